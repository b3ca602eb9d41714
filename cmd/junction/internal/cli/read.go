package cli

import (
	"fmt"
	"io"
	"os"
)

// maxFile limits the size of a file read as an argument.
const maxFile = 16 << 20

// ReadLimited reads r to its end, up to 16 MiB. name is for the error of larger ones.
func ReadLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// MaxLog limits the runes of a log message that are shown.
const MaxLog = 2_000

// ReadFile reads the file that an argument names; "-" is standard input. It reads up to 16 MiB.
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
