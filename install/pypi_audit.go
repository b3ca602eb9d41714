package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func (k pypi) audit(ctx context.Context, l *Locked, dir string) ([]Vulnerability, error) {
	lock, err := readPyPILock(l)
	if err != nil {
		return nil, err
	}
	if !present("pip-audit") {
		return nil, fmt.Errorf("%w: pip-audit %w: pip install pip-audit, or pipx install pip-audit", ErrNoAudit, ErrRuntime)
	}
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, lock.text(), 0o600); err != nil {
		return nil, err
	}
	out, err := run(ctx, command{name: "pip-audit", args: []string{"-r", file, "--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off"}, dir: dir, time: askTime})
	var said struct {
		Dependencies []struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Vulns   []struct {
				ID          string   `json:"id"`
				Fixed       []string `json:"fix_versions"`
				Description string   `json:"description"`
			} `json:"vulns"`
		} `json:"dependencies"`
	}
	if json.Unmarshal(out, &said) != nil || said.Dependencies == nil { // its status is 1 where it finds something
		return nil, errors.Join(fmt.Errorf("%w by pip-audit", ErrNoAudit), err)
	}
	var found []Vulnerability
	for _, d := range said.Dependencies {
		for _, v := range d.Vulns {
			found = append(found, Vulnerability{Package: d.Name, Version: d.Version, ID: v.ID, Title: oneLine(v.Description), FixedIn: strings.Join(v.Fixed, ", ")})
		}
	}
	return found, nil
}
