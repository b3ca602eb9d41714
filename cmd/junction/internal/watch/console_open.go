package watch

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
)

// OpenLink opens a link in the browser until over is closed. It gives the browser a private file
// that redirects to the link, because all users of the machine can read command lines.
func OpenLink(ctx context.Context, a *cli.App, link string, over <-chan struct{}, opening *sync.WaitGroup) {
	path, err := writeDoor(a.Place, link)
	if err != nil {
		a.Logger().Debug("the browser is not opened", "error", err)
		return // the link has been printed
	}
	opening.Go(func() {
		<-over
		_ = os.Remove(path)
	})
	_ = account.StartBrowser(ctx, a.Place, filename.URL(path)) // after an error the user has the printed link
}

// writeDoor writes a page that redirects to a link. Only this user can read the page.
func writeDoor(p place.Place, link string) (path string, err error) {
	cache, err := p.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "junction", "console")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, "open-*.html") // has the mode 0600
	if err != nil {
		return "", err
	}
	to := html.EscapeString(link)
	_, err = fmt.Fprintf(file, `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Junction</title>
<meta http-equiv="refresh" content="0; url=%s"><a href="%s">Junction</a>
`, to, to)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}
