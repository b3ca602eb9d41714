package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/revision"
)

func TestTheVersionIsPrintedByCommandAndFlag(t *testing.T) {
	clitest.Alone(t)
	for _, args := range [][]string{{"version"}, {"--version"}} {
		got := runs(t, "", args...)
		if got.code != cli.ExitOK || got.stderr != "" || !strings.HasPrefix(got.stdout, "junction "+cli.Version+" (") {
			t.Errorf("%v: %+v", args, got)
		}
		for _, want := range append(revision.Legacy(), revision.Latest().Name, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH) {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%v does not print %s: %s", args, want, got.stdout)
			}
		}
	}
	if got := runs(t, "", "version", "please"); got.code != cli.ExitUsage || !strings.Contains(got.stderr, `"please"`) {
		t.Errorf("with an argument: %+v", got)
	}
}

func TestVersionNamesTheCommit(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := setting("vcs.revision", "0123456789abcdef0123")
	for _, test := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"nothing is known", nil, ""},
		{"a build outside of a repository", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
		{"a release that was installed", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3, "},
		{"a repository", &debug.BuildInfo{Settings: []debug.BuildSetting{commit, setting("vcs.modified", "false")}}, "0123456789ab, "},
		{"a repository with changes", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: []debug.BuildSetting{commit, setting("vcs.modified", "true")}}, "0123456789ab-dirty, "},
		{"a revision that is short", &debug.BuildInfo{Settings: []debug.BuildSetting{setting("vcs.revision", "7")}}, "7, "},
	} {
		if got := built(test.info); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
