package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/policy"
)

// ProjectFile is the path of a project's own rules inside its folder. These rules can only tighten
// the user's rules.
const ProjectFile = ".junction/policy.json"

// A Book is a policy with the files that it was read from. It is immutable and safe for concurrent
// use.
type Book struct {
	*policy.Policy
	Files []*policy.File
	// Trusted and Public are names of servers; see [policy.Vouches].
	Trusted, Public []string
}

// ReadBook reads the rules at paths, where "" means the user's own file, and then the rules of the
// project in the current folder. The project's rules can only tighten the others. A named file must
// exist. ReadBook calls ignored, if not nil, with the error of each ignored rule of the project.
func ReadBook(p place.Place, ignored func(error), paths ...string) (*Book, error) {
	book := new(Book)
	var all []policy.Rule
	var byDefault policy.Options
	add := func(path string, required bool, o policy.LoadOptions) error {
		file, err := policy.Load(path, o)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !required:
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w; it is named by --policy, or as policy in the settings", err)
		case err != nil:
			return err
		}
		for _, one := range file.Ignored {
			if ignored != nil {
				ignored(one)
			}
		}
		book.Files = append(book.Files, file)
		all = append(all, file.Rules...)
		book.Trusted, book.Public = append(book.Trusted, file.Trusted...), append(book.Public, file.Public...)
		byDefault = tightened(byDefault, file, o.Tighten)
		return nil
	}
	for _, path := range paths {
		full, err := UserFile(p, path)
		if err == nil {
			err = add(full, path != "", policy.LoadOptions{})
		}
		if err != nil {
			return nil, err
		}
	}
	err := add(p.Path(filepath.FromSlash(ProjectFile)), false, policy.LoadOptions{Tighten: true})
	if err == nil {
		book.Policy, err = policy.Compile(all, byDefault)
	}
	if err != nil {
		return nil, err
	}
	return book, nil
}

// UserFile returns the absolute path of the file of rules with this name, or of the user's own file
// if name is empty.
func UserFile(p place.Place, name string) (string, error) {
	if name != "" {
		return p.Path(name), nil
	}
	folder, err := p.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("your configuration folder is not known; name the policy with --policy: %w", err)
	}
	return filepath.Join(folder, "junction", "policy.json"), nil
}

// tightened returns the default effect after another file is added.
func tightened(before policy.Options, next *policy.File, tighten bool) policy.Options {
	least := before.Default
	if tighten && least == "" {
		least = policy.Ask // the built-in default
	}
	if policy.Strictest(least, next.Default) == least {
		return before
	}
	return policy.Options{Default: next.Default, DefaultSource: next.DefaultSource}
}

// Paths returns the paths of the files that were read.
func (b *Book) Paths() []string {
	paths := []string{}
	for _, f := range b.Files {
		paths = append(paths, f.Path)
	}
	return paths
}
