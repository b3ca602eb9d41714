package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/sandbox"
)

// A confined program chooses what it asks for, and a person pastes what allows it.
func TestAllowCommandsAreExact(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("skip: there is no shell")
	}
	for _, word := range []string{"$(echo evil)", "`echo evil`", `"; echo evil; "`, "'; echo evil; '", `\`, "$HOME", "a b", "it's", "a;b", "é", "~/x", "*"} {
		line := launch.RefusalLine("notes", sandbox.Refusal{What: "look up " + word, Reason: "why", Allow: []string{"--host", word}})
		_, command, _ := strings.Cut(line, "to allow it: ")
		out, err := child(t, sh, "-c", `junction() { for arg; do printf '[%s]' "$arg"; done; }; `+command).CombinedOutput()
		if want := "[server][sandbox][allow][notes][--host][" + word + "]"; string(out) != want || err != nil {
			t.Errorf("%s runs with %s, %v, want %s", command, out, err, want)
		}
	}
}
