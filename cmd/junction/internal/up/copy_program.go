package up

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/spf13/cobra"
)

// CopyProgram is the hidden command that copies this program.
const CopyProgram = "copy-program"

// CopyProgramCommand returns a hidden command that copies this program to a file. A pod whose server
// has an image of its own gets junction from an init container in this way, as the image of
// junction has no other program.
func CopyProgramCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: CopyProgram + " FILE", Short: "Copy this program to FILE, for another container of a pod", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("expected the FILE to write")
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("junction does not find its own program: %w", err)
			}
			return copyProgram(self, a.Place.Path(args[0]))
		},
	}
}

// copyProgram copies a program. If it fails, the earlier file stays.
func copyProgram(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	made, err := os.CreateTemp(filepath.Dir(to), ".junction-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Close(), os.Remove(made.Name()))
		}
	}()
	if _, err := io.Copy(made, source); err != nil {
		return err
	}
	if err := errors.Join(made.Chmod(0o555), made.Sync()); err != nil {
		return err
	}
	if err := os.Rename(made.Name(), to); err != nil {
		return err
	}
	return made.Close()
}
