/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What pip is run by: `python3 -c DRIVER CONDITIONS SECONDS install …`. */

#include "lock/python.h"

/* Options choose wheels for another Python, but conditions ("python_version >= '3.12'") are asked
 * of the one that runs pip: it is told the image's instead. The report repeats it, which is
 * compared. The host's configuration says where wheels come from; what says how to install is not
 * for us.
 *
 * A wheel's description comes from a file beside it, or from the wheel's end by a range request
 * (fast-deps). pip fetches the wheels after that all the same, to install none of them: gigabytes
 * into /tmp for PyTorch. It is told that it has what it needs, wherever the index named the digest,
 * to which the build holds them. A pip with other insides does as it likes.
 *
 * pip follows a redirect from https to http, and takes a page's word for a wheel that lies there
 * without a digest. Its time-out is for one packet, so that a server that sends a byte now and then
 * holds it for ever: who needs two time-outs for a piece (10 KiB, with newer pips 256) is given up.
 * A page goes to memory as a whole, and is one without end beyond 256 MiB (PyPI's largest have 30).
 * What of this ends pip is told in a line of our own, as is each proxy that it goes by. */
const char pip_driver[] =
                "import json, os, sys, threading, time, weakref\n"
                "from urllib.parse import urljoin, urlsplit\n"
                "os.environ.update(LC_ALL='C', PIP_USER='0', PIP_REQUIRE_VIRTUALENV='0')\n"
                "try:\n"
                "    import pip._vendor.packaging.markers as markers\n"
                "    from pip._internal.cli.main import main\n"
                "except ImportError:\n"
                "    sys.exit(97)\n"
                "environment, stall = json.loads(sys.argv[1]), float(sys.argv[2])\n"
                "def say(*words):\n"
                "    print('" PIP_SAYS "', *words, flush=True)\n"
                "def end(*words):\n"
                "    say(*words)\n"
                "    os._exit(1)\n"
                "def server(url):\n" /* without a login */
                "    parts = urlsplit(url)\n"
                "    return f'{parts.scheme}://{parts.hostname}' + (f':{parts.port}' if parts.port else '')\n"
                "def leads_out(url, target):\n"
                "    return urlsplit(url).scheme == 'https' and urlsplit(target).scheme == 'http'\n"
                "waiting = {}\n" /* thread: what it asked, until when */
                "asked = threading.local()\n"
                "def watch():\n"
                "    while True:\n"
                "        time.sleep(0.2)\n"
                "        for url, until in list(waiting.values()):\n"
                "            if time.monotonic() > until:\n"
                "                end('" PIP_SLOW "', server(url))\n"
                "def limited(call, url, times):\n"
                "    asked.url = url or asked.url\n"
                "    waiting[threading.get_ident()] = (asked.url, time.monotonic() + times * stall)\n"
                "    try:\n"
                "        return call()\n"
                "    finally:\n"
                "        waiting.pop(threading.get_ident(), None)\n"
                "def guard():\n"
                "    from pip._vendor.requests import adapters, sessions\n"
                "    from pip._vendor.requests.utils import select_proxy\n"
                "    from pip._vendor.urllib3.response import HTTPResponse\n"
                "    send, target_of, read = adapters.HTTPAdapter.send, sessions.Session.get_redirect_target, HTTPResponse.read\n"
                "    seen, sizes = set(), weakref.WeakKeyDictionary()\n"
                "    def guarded_send(adapter, request, *positional, **named):\n"
                "        proxy = select_proxy(request.url, named.get('proxies') or {})\n"
                "        if proxy and proxy not in seen:\n"
                "            seen.add(proxy)\n"
                "            say('" PIP_PROXY
                "', server(proxy if '://' in proxy else 'http://' + proxy))\n"
                "        return limited(lambda: send(adapter, request, *positional, **named), request.url, 5)\n"
                "    def guarded_target(session, response):\n"
                "        target = target_of(session, response)\n"
                "        if target and leads_out(response.url, urljoin(response.url, target)):\n"
                "            end('" PIP_OUT_OF_TLS
                "', server(response.url), 'to', server(urljoin(response.url, target)))\n"
                "        return target\n"
                "    def guarded_read(response, *positional, **named):\n"
                "        data = limited(lambda: read(response, *positional, **named), None, 2)\n"
                "        sizes[response] = sizes.get(response, 0) + len(data)\n"
                "        if sizes[response] > 256 << 20 and not urlsplit(asked.url).path.endswith('.whl'):\n"
                "            end('" PIP_ENDLESS "', server(asked.url))\n"
                "        return data\n"
                "    adapters.HTTPAdapter.send, sessions.Session.get_redirect_target = guarded_send, guarded_target\n"
                "    HTTPResponse.read = guarded_read\n"
                "    threading.Thread(target=watch, daemon=True).start()\n"
                "found = {}\n"
                "def describe(preparer, requirement):\n"
                "    dist = fetch(preparer, requirement)\n"
                "    if dist and requirement.link.hash:\n"
                "        found[requirement.link.url] = dist\n"
                "    return dist\n"
                "def complete(preparer, requirements, parallel_builds=False):\n"
                "    requirements = list(requirements)\n"
                "    for r in requirements:\n"
                "        if r.link and not r.link.hash and leads_out(str(r.link.comes_from), r.link.url):\n"
                "            end('" PIP_OUT_OF_TLS
                "', server(r.link.comes_from), 'to', r.link.filename, 'of', server(r.link.url))\n"
                "        dist = found.get(r.link.url) if r.needs_more_preparation and r.link else None\n"
                "        if dist:\n"
                "            r.download_info = direct_url_from_link(r.link, r.source_dir)\n"
                "            r.get_dist = lambda dist=dist: dist\n"
                "            r.needs_more_preparation = False\n"
                "    more(preparer, requirements, parallel_builds)\n"
                "try:\n"
                "    guard()\n"
                "except (ImportError, AttributeError):\n"
                "    pass\n"
                "try:\n"
                "    from pip._internal.operations.prepare import RequirementPreparer as preparers, direct_url_from_link\n"
                "    fetch, more = preparers._fetch_metadata_only, preparers.prepare_linked_requirements_more\n"
                "    preparers._fetch_metadata_only, preparers.prepare_linked_requirements_more = describe, complete\n"
                "    from pip._internal.cli.cmdoptions import use_new_feature\n"
                "    if 'fast-deps' in use_new_feature.keywords['choices']:\n"
                "        sys.argv.append('--use-feature=fast-deps')\n"
                "except (ImportError, AttributeError, KeyError):\n"
                "    pass\n"
                "markers.default_environment = lambda: dict(environment)\n"
                "sys.exit(main(sys.argv[3:]))\n";
