"""Examples are valid and carry the code that stands beside them."""

from __future__ import annotations

import yaml
from examples.embed import embedded, health, pairs

from collectorfleet_api.manifests.files import load_file


def test_every_manifest_is_valid_and_carries_the_code_of_its_folder() -> None:
    assert pairs()
    for manifest, code in pairs():
        loaded = load_file(manifest)
        assert not loaded.findings
        (fleet,) = loaded.fleets
        assert fleet.spec.code is not None
        carried = loaded.config_map(fleet.spec.code.config_map)
        assert carried == {code.name: code.read_text()}, f"{manifest} is stale; run `make generate`"


def test_the_values_for_argo_cd_carry_the_health_script() -> None:
    manifest, key, script = health()
    assert yaml.safe_load(manifest.read_text())["configs"]["cm"] == {key: script.read_text()}, "run `make generate`"


def test_embedding_replaces_the_text_and_keeps_what_follows() -> None:
    manifest = "data:\n  a.py: |\n    old\n\n    older\n  b.py: |\n    other\n"
    assert embedded(manifest, "a.py", "new\n\nnewer\n") == (
        "data:\n  a.py: |\n    new\n\n    newer\n  b.py: |\n    other\n"
    )
