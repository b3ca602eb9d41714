package docs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/internal/formfill"
)

// isTutorial reports whether a page is a tutorial. Its reader follows it from the first step to the
// last one in one folder.
func isTutorial(page string) bool { return strings.HasPrefix(filepath.Base(page), "tutorial-") }

// browserName is the name by which the binary of this test is a browser.
const browserName = "browser"

// browse opens an address as the user of a tutorial does: fills in the form of the login, and
// agrees. It returns an exit code.
func browse(at string) int {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	b := formfill.New(map[string]string{"username": "ann", "password": "a password of ann", "decision": "allow"}, nil)
	if _, err := b.Visit(ctx, at, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
