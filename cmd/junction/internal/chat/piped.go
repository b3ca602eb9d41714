package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
)

// PipeTime is how long chat -p waits for the first byte of piped input. A pipe that was inherited
// from another program may never end.
const PipeTime = 5 * time.Second

// PipedInput returns the input piped to chat -p as an attachment. It returns nil if standard input
// is a terminal, is empty, or has another use.
func PipedInput(ctx context.Context, a *cli.App, f *Flags) ([]host.Attachment, error) {
	if f.Prompt == "" || f.Prompt == "-" || slices.Contains(f.attach, "-") || !IsPiped(a.Stdin) {
		return nil, nil
	}
	data, err := readPiped(ctx, a)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	const without = "; < /dev/null sends the question without it"
	attached, err := attachable("standard input", data)
	if err != nil {
		return nil, cli.Usagef("%w"+without, err)
	}
	a.Screen.Printf("junction: standard input is sent with the question, %d bytes"+without+"\n", len(data))
	return []host.Attachment{attached}, nil
}

// IsPiped reports whether in is a file or a pipe, and not a terminal or a device.
func IsPiped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0 && !info.IsDir()
}

// readPiped reads standard input to its end. If no byte arrives within [PipeTime], it returns nil,
// unless a user at the terminal can end the wait. A read cannot be interrupted, so an abandoned one
// lasts until the process ends.
func readPiped(ctx context.Context, a *cli.App) ([]byte, error) {
	var data []byte
	began, over := make(chan struct{}), make(chan error, 1)
	go func() {
		in := bufio.NewReader(a.Stdin)
		_, err := in.Peek(1)
		if err == nil {
			close(began)
			data, err = cli.ReadLimited(in, "standard input")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
		over <- err
	}()
	late := time.NewTimer(PipeTime)
	defer late.Stop()
	select {
	case err := <-over:
		return data, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-began:
	case <-late.C:
		if !a.Screen.Terminal() {
			a.Screen.Printf("junction: no input within %s, so the question is sent without any; --attach - waits for input, and < /dev/null does not\n", PipeTime)
			return nil, nil
		}
		a.Screen.Printf("junction: waiting for standard input, which is not a terminal; Ctrl-C ends this, and < /dev/null skips it\n")
	}
	select {
	case err := <-over:
		return data, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
