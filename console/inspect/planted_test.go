package inspect

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/redact/planted"
)

// TestNoPlantedSecretIsShown puts each secret into headers, and into responses of an authorization
// server.
func TestNoPlantedSecretIsShown(t *testing.T) {
	for _, secret := range planted.Secrets() {
		core := strings.ReplaceAll(secret.Core, "\n", " ")
		text := strings.ReplaceAll(secret.Text, "\n", " ")
		headers := http.Header{"Authorization": {"Bearer " + core}, "Proxy-Authorization": {core}, "Cookie": {"a=" + core}, "Set-Cookie": {"a=" + core}, "X-Api-Key": {core},
			"X-Other": {core}, "Mcp-Param-Password": {core}, "Mcp-Session-Id": {core}, "Www-Authenticate": {`Bearer error_description="` + text + `"`}}
		if !strings.ContainsAny(core, "/:") {
			headers["Location"] = []string{"https://me:" + core + "@example.com/?code=" + core}
		}
		if shown := fmt.Sprint(shownHeaders(headers)); strings.Contains(shown, core) {
			t.Errorf("%s: headers are shown as %s", secret.Kind, shown)
		}
		for _, form := range planted.Forms() {
			if object := form.Object(secret); object != "" && !form.Decoded {
				if shown := string(shownMembers([]byte(object))); strings.Contains(shown, secret.Core) {
					t.Errorf("%s: %s: %s is shown as %s", secret.Kind, form.Name, object, shown)
				}
			}
		}
	}
}
