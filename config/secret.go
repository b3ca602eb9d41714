package config

import (
	"path/filepath"
	"strings"
)

const (
	// maxSecretFile bounds a file that holds a secret, in bytes.
	maxSecretFile = 64 << 10
	// maxSecretPath bounds its path, in bytes; what is longer is plain text.
	maxSecretPath = 4 << 10
)

// secret is one that the user keeps.
func (x *expansion) secret(name string) (string, error) {
	look := x.def.file.options.Secret
	if look == nil || x.unasked {
		return "", caused(ErrSecret, "secret %s cannot be looked up here; replace ${secret:%s} by a variable", quote(name), plain(name))
	}
	value, err := look(x.ctx, name)
	if err != nil {
		return "", caused(ErrSecret, "secret %s: %w", quote(name), err)
	}
	return value, nil
}

// secretFile is what a file holds, without the line break at its end. Of a project's file it must lie in the project,
// as an environment file must: whoever wrote the project would else get any file of the person's.
func (x *expansion) secretFile(written string) (string, error) {
	path, options := written, x.def.file.options
	if rest, found := strings.CutPrefix(path, "~/"); found && options.HomeDir != "" {
		path = filepath.Join(options.HomeDir, rest)
	}
	path = absolute(path, x.def.folder)
	folder, inside := filepath.Dir(path), filepath.Base(path)
	if workspace := x.def.workspace; workspace != "" {
		local := false
		if folder, inside, local = insideProject(workspace, path); !local {
			return "", caused(ErrSecret, "file %s is outside of the project's folder; name it in a configuration of your own, or keep it as ${secret:NAME}", quote(written))
		}
	} else if real, err := filepath.EvalSymlinks(path); err == nil { // the person's own file may name a link, as those of secrets often are
		folder, inside = filepath.Dir(real), filepath.Base(real)
	}
	data, err := readInside(folder, inside, maxSecretFile)
	if err != nil {
		return "", caused(ErrSecret, "file %s %w; put the secret there, or change the path", quote(written), err)
	}
	value := string(data)
	for _, end := range []string{"\n", "\r"} {
		value = strings.TrimSuffix(value, end)
	}
	if value == "" {
		return "", caused(ErrSecret, "file %s is empty; put the secret there", quote(written))
	}
	return value, nil
}
