package reach

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/launch"
)

// Referenced reads a secret from its place, which [settings.Reference] returned for a text of the
// file from. Recordings do not contain it.
func Referenced(ctx context.Context, a *cli.App, kind, name, from string) (secret string, err error) {
	switch kind {
	case "secret":
		return a.Launch.Secret(ctx, name)
	case "file":
		var text []byte
		text, err = filename.ReadAtMost(NextTo(from, name), launch.MaxKeyFile)
		secret = strings.TrimSpace(string(text))
	default:
		if secret = a.Getenv(name); secret == "" {
			err = fmt.Errorf("the variable %s is not set; export it", name)
		}
	}
	if err == nil {
		a.Launch.Hide(secret)
	}
	return secret, err
}

// NextTo returns the path named in a file, relative to the file's folder.
func NextTo(file, named string) string {
	if named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), named)
}
