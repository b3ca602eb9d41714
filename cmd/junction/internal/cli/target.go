package cli

import (
	"os"
)

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
