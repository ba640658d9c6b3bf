"""Define the style of the page. Its colors follow Okabe and Ito's palette for color-blind readers."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#5b6570;--paper:#fff;--rule:#e3e7eb;
--c1:#0072b2;--c2:#d55e00;--c3:#6b7680;--starting:#e69f00;--ready:#009e73;--failed:#d55e00;--retired:#8a949e;--joining:#56b4e9}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebee;--dim:#9aa5b0;--paper:#14171a;--rule:#2b3138;
--c1:#56b4e9;--c2:#ee8a3c;--c3:#8d98a3;--ready:#2bc295;--failed:#ee8a3c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:820px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:26px;margin:0}h2{font-size:17px;margin:32px 0 8px}
header p{margin:2px 0;color:var(--dim);overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:14px 20px;margin:20px 0 8px}
dt{color:var(--dim);font-size:12.5px}dd{margin:0;font-size:19px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
figure{margin:28px 0 0;overflow-x:auto}
figcaption{font-weight:600;font-size:14px;margin-bottom:4px;position:sticky;left:0}
svg{display:block;width:100%;min-width:560px;height:auto;font:12px system-ui,-apple-system,"Segoe UI",sans-serif}
.grid{stroke:var(--rule)}.axis{stroke:var(--dim)}.mark{stroke:var(--failed);stroke-opacity:.45;stroke-dasharray:2 3}
.tick{fill:var(--dim);font-variant-numeric:tabular-nums}.name{font-weight:600;font-variant-numeric:tabular-nums}
polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}
polyline.c1{stroke:var(--c1)}polyline.c2{stroke:var(--c2)}polyline.c3{stroke:var(--c3)}
.key{display:none}.key span{margin-right:14px}
@media(max-width:600px){.key{display:block}}
.key .c1{color:var(--c1)}.key .c2{color:var(--c2)}.key .c3{color:var(--c3)}
.key .Starting{color:var(--starting)}.key .Joining{color:var(--joining)}.key .Ready{color:var(--ready)}
.key .Retired{color:var(--retired)}.key .Failed{color:var(--failed)}
text.c1{fill:var(--c1)}text.c2{fill:var(--c2)}text.c3{fill:var(--c3)}
.point.c1{fill:var(--c1)}.point.c2{fill:var(--c2)}
.error{stroke-width:1.4;stroke-opacity:.5}.error.c1{stroke:var(--c1)}.error.c2{stroke:var(--c2)}
.band{fill:var(--c1);fill-opacity:.14}
.state{fill:var(--retired)}.Starting{fill:var(--starting)}.Joining{fill:var(--joining)}.Ready{fill:var(--ready)}.Failed{fill:var(--failed)}
.videos{display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}
.videos details{max-width:100%}summary{cursor:pointer;font-size:14px;margin-bottom:6px}
.videos img{display:block;max-width:100%;height:auto;border:1px solid var(--rule);border-radius:4px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;vertical-align:top;padding:5px 14px 5px 0;border-bottom:1px solid var(--rule);
overflow-wrap:anywhere}
td:first-child,td:nth-child(2){white-space:nowrap}
th{color:var(--dim);white-space:nowrap;font-weight:500}
"""
