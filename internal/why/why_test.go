package why

import (
	"errors"
	"fmt"
	"testing"
)

func TestAFailureIsOneLineThatNamesTheServerOnce(t *testing.T) {
	ended := func(how, tail string) error {
		return fmt.Errorf("server %q: initialize: expected a response to initialize: its output ended; it %s; its standard error ends with:\n%s", "x", how, tail)
	}
	exited := func(tail string) error { return ended("exited with status 1", tail) }
	const status = "it exited with status 1"
	for what, tt := range map[string]struct {
		err  error
		want string
	}{
		"npm": {exited("npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\nnpm error 404\nnpm error 404  'x@*' is not in this registry.\nnpm error 404\n" +
			"npm error 404 Note that you can also install from a\nnpm error 404 tarball, folder, http url, or git folder.\nnpm error A complete log of this run can be found in: /tmp/log"),
			status + ": npm error 404 Not Found - GET https://registry.example/x"},
		"a warning of npm":          {exited("npm warn Unknown user config \"nodedir\". This will stop working in the next major version of npm.\nError: no token"), status + ": Error: no token"},
		"a warning of npm alone":    {exited("npm warn Unknown user config \"nodedir\". This will stop working in the next major version of npm.\nnpm notice New version"), status},
		"a warning before a reason": {exited("Warning: the API key is missing from the environment\nset KEY please"), status + ": set KEY please"},
		"python":                    {exited("Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'API_KEY'"), status + ": KeyError: 'API_KEY'"},
		"a group of python":         {exited("  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    | httpcore.ConnectError: All connection attempts failed\n    |\n    | The above exception was the direct cause of the following exception:\n    |\n    | httpx.ConnectError: All connection attempts failed\n    +------------------------------------"), status + ": httpx.ConnectError: All connection attempts failed"},
		"node":                      {exited("node:internal/process:1\n    throw err;\n    ^\n\nError: Cannot find module 'x'\n    at f (y.js:1)\n\nNode.js v22.1.0"), status + ": Error: Cannot find module 'x'"},
		"a list of node":            {exited("bindings.js:126\n  err = new Error(\n        ^\n\nError: Could not locate the bindings file. Tried:\n → /a/x.node\n → /b/x.node\n    at bindings (bindings.js:126:9) {\n  tries: [\n    '/a/x.node',\n    '/b/x.node'\n  ]\n}\n\nNode.js v20.20.2"), status + ": Error: Could not locate the bindings file. Tried: → /a/x.node"},
		"a list of node, cut off":   {exited("  tries: [\n    '/a/x.node',\n    '/b/x.node'\n  ]\n}\n\nNode.js v20.20.2"), status + ": tries:"},
		"a cause":                   {exited("[14130] Connecting to remote server\n[14130] Fatal error: TypeError: fetch failed\n    at node:internal/deps/undici/undici:13185:13\n    at async f (x.js:1) {\n  [cause]: Error: getaddrinfo ENOTFOUND mcp.stripe.com\n      at GetAddrInfoReqWrap.onlookup (node:dns:107:26) {\n    errno: -3008,\n    code: 'ENOTFOUND',\n    syscall: 'getaddrinfo',\n    hostname: 'mcp.stripe.com'\n  }\n}"), status + ": Fatal error: TypeError: fetch failed: getaddrinfo ENOTFOUND mcp.stripe.com"},
		"a cause that is a code":    {exited("TypeError: fetch failed\n  code: 'ECONNREFUSED',\n}"), status + ": TypeError: fetch failed: code: 'ECONNREFUSED'"},
		"a cause alone":             {exited("Error: connect ECONNREFUSED 127.0.0.1:1"), status + ": Error: connect ECONNREFUSED 127.0.0.1:1"},
		"JSON":                      {exited("{\"error\":\n  \"no key\"\n}"), status + `: "error": "no key"`},
		"an error of two lines":     {exited("starting\nError:\n  no key"), status + ": Error: no key"},
		"in words":                  {exited("starting\nAPI_KEY environment variable is required\nbye"), status + ": API_KEY environment variable is required"},
		"usage":                     {exited("usage: x [--key KEY]\nx: error: the following arguments are required: --key"), status + ": x: error: the following arguments are required: --key"},
		"a usage behind":            {exited("Error: no context is set\nUsage:\n  x [flags]\n\nFlags:\n  -h, --help              help for x\n      --log-file string   Set to \"stderr\" to log to the standard error stream.\n"), status + ": Error: no context is set"},
		"no reason":                 {exited("starting\nbye"), status + ": bye"},
		"killed":                    {ended("was killed by SIGTERM", "Knowledge Graph MCP Server running on stdio"), "it was killed by SIGTERM"},
		"crashed":                   {ended("was killed by SIGABRT", "FATAL ERROR: JavaScript heap out of memory"), "it was killed by SIGABRT: FATAL ERROR: JavaScript heap out of memory"},
		"doubled":                   {errors.New(`server "x": initialize: initialize: clientInfo: expected an object (-32602)`), "initialize: clientInfo: expected an object (-32602)"},
		"refused":                   {errors.New(`server "x": initialize: expected a response to initialize: dial tcp 127.0.0.1:1: connect: connection refused`), "dial tcp 127.0.0.1:1: connect: connection refused"},
		"late":                      {errors.New(`server "x": initialize: expected a response to initialize: not connected within 3s: context deadline exceeded`), "not connected within 3s"},
		"a URL":                     {errors.New(`server "x": initialize: connection refused`), "initialize: connection refused"},
	} {
		if got := Of(tt.err, "x"); got != tt.want {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}
}

func TestURIsOfAServerAreKept(t *testing.T) {
	if got, want := Once(`server "notes": resource not found: notes://nope`), `server "notes": resource not found: notes://nope`; got != want {
		t.Errorf("got %q", got)
	}
}
