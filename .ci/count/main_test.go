package main

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for name, test := range map[string]struct {
		lines                   string
		passed, failed, skipped int
		says                    string
	}{
		"subtests count instead of their parent": {
			lines: `{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"run","Package":"p","Test":"A/y"}
{"Action":"output","Package":"p","Test":"A/y","Output":"    a_test.go:3: no such program\n"}
{"Action":"pass","Package":"p","Test":"A/x"}
{"Action":"skip","Package":"p","Test":"A/y"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"pass","Package":"p"}`,
			passed: 1, skipped: 1, says: "skip p A/y: a_test.go:3: no such program",
		},
		"a parent that fails by itself counts": {
			lines: `{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"pass","Package":"p","Test":"A/x"}
{"Action":"output","Package":"p","Test":"A","Output":"goroutine left\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}`,
			passed: 1, failed: 1, says: "goroutine left",
		},
		"a failed subtest counts once": {
			lines: `{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"fail","Package":"p","Test":"A/x"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}`,
			failed: 1, says: "FAIL p A/x",
		},
		"a package that does not build": {
			lines: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"a.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			failed: 1, says: "undefined: x",
		},
		"a package that dies between its tests": {
			lines: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Output":"panic: oops\n"}
{"Action":"fail","Package":"p"}`,
			passed: 1, failed: 1, says: "panic: oops",
		},
		"a failure comes after what was skipped": {
			lines: `{"Action":"output","Package":"p","Test":"A","Output":"oops\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"not here\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"fail","Package":"p"}`,
			failed: 1, skipped: 1, says: "skip p B: not here\nFAIL p A\n    oops\n",
		},
		"a slow test": {
			lines: `{"Action":"pass","Package":"p","Test":"A/x","Elapsed":70}
{"Action":"pass","Package":"p","Test":"A","Elapsed":71.2}
{"Action":"pass","Package":"p","Test":"B","Elapsed":3}`,
			passed: 3, says: "slow p A: 71 s\n",
		},
		"a long failure keeps its first and its last lines": {
			lines: strings.Repeat(`{"Action":"output","Package":"p","Test":"A","Output":"first\n"}`+"\n", maxHead) +
				strings.Repeat(`{"Action":"output","Package":"p","Test":"A","Output":"between\n"}`+"\n", 3*maxTail) +
				strings.Repeat(`{"Action":"output","Package":"p","Test":"A","Output":"last\n"}`+"\n", maxTail-1) +
				`{"Action":"fail","Package":"p","Test":"A"}`,
			failed: 1, says: "    first\n    […]\n    last\n",
		},
		"a package without tests": {lines: `{"Action":"skip","Package":"p"}`},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := read(strings.NewReader(test.lines))
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			passed, skipped, failures := all.count(&said)
			failed := len(failures)
			if passed != test.passed || failed != test.failed || skipped != test.skipped || !strings.Contains(said.String(), test.says) {
				t.Errorf("%d passed, %d failed, %d skipped, %q; want %d, %d, %d, %q", passed, failed, skipped, said.String(), test.passed, test.failed, test.skipped, test.says)
			}
		})
	}
}
