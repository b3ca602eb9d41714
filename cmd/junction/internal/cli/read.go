package cli

import (
	"fmt"
	"io"
	"os"
)

// maxFile is how large a file may be that becomes an argument.
const maxFile = 16 << 20

func ReadLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// MaxLog is how much of a log message is shown, in runes.
const MaxLog = 2_000

// ReadFile reads a file that an argument names; "-" is standard input.
func (a *App) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return ReadLimited(a.Stdin, "standard input")
	}
	f, err := os.Open(a.Path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadLimited(f, name)
}
