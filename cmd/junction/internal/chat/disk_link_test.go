package chat_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A card must not show the change of another file than the one that the path leads to: where
// ".." follows a link, its parent is that of what the link points to.
func TestTheFileOnTheCardIsTheOneThatThePathLeadsTo(t *testing.T) {
	work := t.TempDir()
	clitest.Write(t, map[string]string{
		filepath.Join(work, "config"):           "harmless\n",
		filepath.Join(work, "deep", "config"):   "precious\n",
		filepath.Join(work, "deep", "er", "f"):  "",
		filepath.Join(work, "plain", "nothing"): "",
	})
	if err := os.Symlink(filepath.Join("deep", "er"), filepath.Join(work, "link")); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{work + "/config", work + "/plain/../config", work + "/link/../config"} {
		written, err := os.ReadFile(clitest.In(t, path)) // what a server opens
		if err != nil {
			t.Fatal(err)
		}
		if shown, ok := chat.FileReader(clitest.PlaceOf(t), []string{work})(path); ok && shown != string(written) {
			t.Errorf("%s: the card shows a change of %q, and %q is what is overwritten", path, shown, written)
		}
	}
}
