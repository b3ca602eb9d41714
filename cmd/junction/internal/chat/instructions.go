package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

const (
	projectInstructions = "AGENTS.md"
	maxInstructions     = 64 << 10 // largest size of a file in bytes
	instructionsShown   = 20       // number of lines shown before the user asks for all
)

// Instructions returns the instructions for the model in addition to Junction's own: those of the
// user, and those of the project if the user agreed to them.
func (t *Setup) Instructions(ctx context.Context) (string, error) {
	var parts []string
	own := map[string]bool{}
	for _, name := range t.Flags.Instructions {
		text, err := ownInstructions(t.App.Place, name)
		if err != nil {
			return "", err
		}
		own[text] = true
		parts = append(parts, "The user gives these instructions:\n"+text)
		t.instructed = append(t.instructed, name)
	}
	text, err := folderInstructions(t.App.Path("."))
	switch {
	case err != nil:
		t.App.Screen.Printf("junction: %s of this folder is not used: %v\n", projectInstructions, err)
	case text == "", own[text]:
	default:
		agreed, err := t.agreed(ctx, text)
		if err != nil {
			return "", err
		}
		if agreed {
			t.instructed = append(t.instructed, projectInstructions+" of this folder")
			parts = append(parts, "The user's working folder has instructions in its "+projectInstructions+". They are the project's text, and the user agreed to them. "+
				"Follow them, but the words of the user take precedence.\n"+text)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// situation returns a text about the date, the system and the folder. It changes only once a day,
// so that providers can cache it.
func situation(p place.Place, now time.Time) string {
	said := "It is " + now.Format("Monday, 2 January 2006") + ", as the conversation begins or goes on. The user's system is " + runtime.GOOS + "."
	if folder, err := p.Getwd(); err == nil {
		said += " They are in the folder " + plaintext.Line(folder, 500) + "."
	}
	return said
}

// ownInstructions returns the text of a file that --instructions names.
func ownInstructions(p place.Place, name string) (string, error) {
	f, err := os.Open(p.Path(name))
	if err != nil {
		return "", fmt.Errorf("--instructions: %w", err)
	}
	defer f.Close()
	text, err := readInstructions(f)
	switch {
	case err != nil:
		return "", cli.Usagef("--instructions %s: %w", name, err)
	case text == "":
		return "", cli.Usagef("--instructions %s: the file is empty", name)
	}
	return text, nil
}

// folderInstructions returns the text of AGENTS.md in a folder, or "" if there is none. It does not
// follow links out of the folder.
func folderInstructions(folder string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(projectInstructions)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	}
	f, err := root.Open(projectInstructions)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readInstructions(f)
}

// readInstructions reads a text and removes characters that a user would not see.
func readInstructions(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInstructions+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxInstructions:
		return "", fmt.Errorf("larger than %d KiB", maxInstructions>>10)
	case !utf8.Valid(data):
		return "", errors.New("not text in UTF-8")
	}
	return strings.TrimSpace(plaintext.Clean(strings.ReplaceAll(string(data), "\r\n", "\n"))), nil
}

// agreed reports whether the user wants the model to follow a project's instructions. It asks once
// for each text, whatever the folder is.
func (t *Setup) agreed(ctx context.Context, text string) (bool, error) {
	key := InstructionsKey(text)
	if agreed, known := t.App.Launch.StoredConsents()[key]; known {
		return agreed, nil
	}
	if t.App.Person == nil {
		t.App.Screen.Printf("junction: %s of this folder is not used until you agree to it; --instructions %s uses it\n", projectInstructions, projectInstructions)
		return false, nil
	}
	agreed, err := t.askAgreement(ctx, text)
	switch {
	case errors.Is(err, terminal.ErrNoAnswer):
		return false, nil // the answer is not stored
	case err != nil:
		return false, err
	}
	if err := t.App.Launch.ChangeConsents(func(said map[string]bool) { said[key] = agreed }); err != nil {
		t.App.Screen.Printf("junction: your decision on %s is not remembered: %v\n", projectInstructions, err)
	}
	return agreed, nil
}

// askAgreement shows the instructions of a project and asks whether the model should follow them.
func (t *Setup) askAgreement(ctx context.Context, text string) (bool, error) {
	p := t.App.Person
	end, err := p.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	lines := strings.Split(text, "\n")
	p.Printf("This folder's %s has instructions for the model.\nThe project wrote this text, not you:\n\n", projectInstructions)
	shown := min(len(lines), instructionsShown)
	show := func(lines []string) { p.Printf("  | %s\n", strings.Join(lines, "\n  | ")) }
	show(lines[:shown])
	for {
		choices := "[y]es, [N]o"
		if more := len(lines) - shown; more > 0 {
			choices += fmt.Sprintf(", [a]ll of it (%d more lines)", more)
		}
		// the user may have typed a line before this question
		word, err := answer.Choose(ctx, p, "\nShould the model follow it? You are asked once for this text. "+choices+" > ", "Please answer y or n.", "y|yes", "a|all", "n|no|")
		if word != "a" {
			if word == "n" {
				p.Printf("It is not used. To use it anyway, give --instructions %s.\n", projectInstructions)
			}
			return word == "y", err
		}
		if shown < len(lines) {
			show(lines[shown:])
		}
		shown = len(lines)
	}
}

// InstructionsKey returns the key under which the answer about a project's instructions is stored.
func InstructionsKey(text string) string {
	sum := sha256.Sum256([]byte(projectInstructions + "\n" + text))
	return hex.EncodeToString(sum[:])
}
