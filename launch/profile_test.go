package launch

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/sandbox"
)

func TestAProfileOfALockIsOneLineAndHasNoEscapes(t *testing.T) {
	const forged = "docker\nother is not confined\x1b[2J"
	for _, p := range []sandbox.Profile{{By: forged}, {By: "docker", Image: forged}, {Read: []string{forged}}, {Hosts: []string{forged}}} {
		for _, text := range append(ProfileLines(p), new(Launcher).Confinement(&p, nil)) {
			if strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("%+v: %q", p, text)
			}
		}
	}
}
