package console

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The logic of the page has tests of its own, which Node runs.
func TestThePagesLogic(t *testing.T) {
	files, err := filepath.Glob("web/*.test.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no tests of the page")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node, which runs the tests of the page")
	}
	out, err := exec.CommandContext(t.Context(), node, append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
