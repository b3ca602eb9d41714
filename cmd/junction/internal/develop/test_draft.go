package develop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/cases"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/recording"
)

// draft converts a recording into a draft of a case file.
func draft(a *cli.App, from, server string, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("--from: expected one FILE to write to, or none")
	}
	in, err := os.Open(a.Path(from))
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := recording.Read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if len(args) == 0 {
		text, err := cases.Draft(r, from, server)
		if err != nil {
			return cli.Usagef("%s: %w", from, err)
		}
		_, err = a.Stdout.Write(text)
		return err
	}
	source := from
	if !filepath.IsAbs(from) {
		if folder, err := a.Abs(filepath.Dir(args[0])); err == nil {
			if source, err = filepath.Rel(folder, a.Absolute(from)); err != nil {
				source = a.Absolute(from)
			}
		}
	}
	text, err := cases.Draft(r, filepath.ToSlash(source), server)
	if err != nil {
		return cli.Usagef("%s: %w", from, err)
	}
	out, err := os.OpenFile(a.Path(args[0]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("--from: %s exists already, and is not replaced; give another name", args[0])
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}
