"""The proxy of the environment for an address, as curl and other HTTP clients read it."""

from __future__ import annotations

import os

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.run.code.proxies import address_of, login_of, proxy_of


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("proxy", "address", "login"),
    [
        pytest.param("proxy.lab:3128", "http://proxy.lab:3128", None, id="without a scheme"),
        pytest.param("proxy.lab", "http://proxy.lab", None, id="without a port"),
        pytest.param("me:secret@proxy.lab:3128", "http://proxy.lab:3128", "me:secret", id="user without a scheme"),
        pytest.param("http://me:a%3Ab%40c@10.0.0.1:3128/", "http://10.0.0.1:3128", "me:a:b@c", id="quoted password"),
        pytest.param("https://me@[fd00::1]:3128", "https://[fd00::1]:3128", "me:", id="https, IPv6, no password"),
        pytest.param("HTTP://Proxy.LAB:3128", "http://proxy.lab:3128", None, id="capitals"),
    ],
)
def test_an_address_of_a_proxy(monkeypatch: pytest.MonkeyPatch, proxy: str, address: str, login: str | None) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    found = proxy_of("https://git.lab/lab.git", "lab")
    assert found is not None
    assert (address_of(found), login_of(found)) == (address, login)


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        pytest.param({"HTTP_PROXY": "a:1", "HTTPS_PROXY": "b:1"}, "http://git.lab", "http://a:1", id="of http"),
        pytest.param({"HTTP_PROXY": "a:1", "HTTPS_PROXY": "b:1"}, "https://git.lab", "http://b:1", id="of https"),
        pytest.param({"HTTP_PROXY": "a:1"}, "https://git.lab", None, id="none of https"),
        pytest.param({"HTTPS_PROXY": "a:1", "https_proxy": "b:1"}, "https://git.lab", "http://b:1", id="lower case"),
        pytest.param({"HTTPS_PROXY": "a:1", "https_proxy": ""}, "https://git.lab", None, id="lower case, empty"),
        pytest.param({"ALL_PROXY": "a:1", "https_proxy": "b:1"}, "http://git.lab", "http://a:1", id="of the others"),
        pytest.param({"no_proxy": "git.lab", "HTTPS_PROXY": "a:1"}, "https://git.lab", None, id="no_proxy"),
    ],
)
def test_each_kind_of_address_has_a_variable(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = proxy_of(url, "lab")
    assert (found and found.url) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "url", "is_bypassed"),
    [
        pytest.param("git.lab", "https://git.lab/a", True, id="name"),
        pytest.param("GIT.lab", "https://git.LAB/a", True, id="capitals"),
        pytest.param("lab", "https://git.lab/a", True, id="domain"),
        pytest.param(".lab", "https://git.lab/a", True, id="domain with a dot"),
        pytest.param("*.lab", "https://git.lab/a", True, id="domain with a star"),
        pytest.param("*.lab", "https://lab/a", False, id="not the domain itself with a star"),
        pytest.param("it.lab", "https://git.lab/a", False, id="no part of a word"),
        pytest.param(" a.lab , git.lab ", "https://git.lab/a", True, id="list with spaces"),
        pytest.param(",,", "https://git.lab/a", False, id="empty words"),
        pytest.param("*", "https://git.lab/a", True, id="star"),
        pytest.param("a.lab,*", "https://git.lab/a", True, id="star in a list"),
        pytest.param("git.lab:8443", "https://git.lab:8443/a", True, id="port"),
        pytest.param("git.lab:8443", "https://git.lab/a", False, id="another port"),
        pytest.param("git.lab:443", "https://git.lab/a", True, id="default port of https"),
        pytest.param("git.lab:80", "http://git.lab/a", True, id="default port of http"),
        pytest.param("git.lab", "https://git.lab:8443/a", True, id="name on any port"),
        pytest.param("git.lab", "https://me@git.lab/a", True, id="address with a user"),
        pytest.param("10.1.2.3", "https://10.1.2.3:5000/a", True, id="IP address"),
        pytest.param("10.0.0.0/8", "https://10.1.2.3:5000/a", True, id="network"),
        pytest.param("10.0.0.0/8", "https://11.1.2.3/a", False, id="outside of the network"),
        pytest.param("10.1.2.3/8", "https://10.9.9.9/a", True, id="network with bits of a host"),
        pytest.param("10.0.0.0/8", "https://git.lab/a", False, id="names are in no network"),
        pytest.param("10.0.0.0/99,x/8", "https://10.1.2.3/a", False, id="no network"),
        pytest.param("fd00::/8", "https://[fd00::1]:5000/a", True, id="IPv6 network"),
        pytest.param("fd00::1", "https://[fd00::1]/a", True, id="IPv6 address"),
        pytest.param("[fd00::1]", "https://[fd00::1]:5000/a", True, id="IPv6 address in brackets"),
        pytest.param("10.0.0.0/8", "https://[fd00::1]/a", False, id="IPv6 address in no IPv4 network"),
        pytest.param("fd00::/8", "https://10.1.2.3/a", False, id="IPv4 address in no IPv6 network"),
    ],
)
def test_servers_of_no_proxy(monkeypatch: pytest.MonkeyPatch, no_proxy: str, url: str, is_bypassed: bool) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy.lab:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert (proxy_of(url, "lab") is None) is is_bypassed


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "Https_Proxy", "ALL_PROXY"])
@pytest.mark.parametrize(
    ("proxy", "wrong"),
    [
        pytest.param("socks5://me:secret@proxy.lab:1080", "is socks5://proxy.lab, which is not supported", id="socks"),
        pytest.param("socks5h://proxy.lab", "is socks5h://proxy.lab, which is not supported", id="socks by name"),
        pytest.param("ftp://me:secret@proxy.lab", "is ftp://proxy.lab, which is not supported", id="ftp"),
        pytest.param("http://", "is http://, which is not supported", id="no host"),
        pytest.param("http://me:secret@proxy.lab:port", "is not the address of a proxy", id="no port"),
        pytest.param("me:secret@[fd00::1:3128", "is not the address of a proxy", id="broken IPv6"),
        pytest.param("http://me:secret@proxy.lab:99999", "is not the address of a proxy", id="too high a port"),
    ],
)
def test_what_is_no_http_proxy_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, wrong: str
) -> None:
    monkeypatch.setenv(variable, proxy)
    with pytest.raises(InvalidOption) as refused:
        proxy_of("https://git.lab/lab.git", "lab")
    assert str(refused.value) == (
        f"lab: {variable} {wrong}; set a proxy that begins with http:// or https://, or add the server to NO_PROXY"
    )
    assert refused.value.__cause__ is None
