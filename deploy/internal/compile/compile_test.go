package compile

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A pattern that fits no package has no effect, and go build does not mention it.
func TestPatternsFitPackagesOfTheProgram(t *testing.T) {
	list := func(args ...string) []string {
		t.Helper()
		cmd := exec.Command("go", append([]string{"list"}, args...)...)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", args, err)
		}
		return strings.Fields(string(out))
	}
	program := list("-deps", "./cmd/junction")
	for _, pattern := range inlined {
		if pattern == "std" {
			continue
		}
		prefix, several := strings.CutSuffix(pattern, "/...")
		if !slices.ContainsFunc(program, func(p string) bool { return p == prefix || several && strings.HasPrefix(p, prefix+"/") }) {
			t.Errorf("junction has no package of %s", pattern)
		}
	}
}
