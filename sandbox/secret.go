package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// secretPlaces are the folders and files where keys, logins and histories are kept, each as it is called and where it
// really is, as a link may lead there from elsewhere.
func secretPlaces() (places []string) {
	for _, dir := range namesOf(home()) {
		for _, name := range secretInHome {
			places = append(places, namesOf(filepath.Join(dir, name))...)
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, namesOf(filepath.Join(dir, "junction"))...)
	}
	return places
}

// namesOf are a path and where it really is; none for "".
func namesOf(path string) []string {
	if path == "" {
		return nil
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		return []string{path, real}
	}
	return []string{path}
}

// inSecret reports whether a path is one where secrets are kept, or in one.
func inSecret(path string) bool {
	secret := secretPlaces()
	return slices.ContainsFunc(namesOf(path), func(name string) bool { return isWithinAny(name, secret) })
}

// holdsPrivate reports whether a path is the home folder or has it, or has a place of secrets, in it.
func holdsPrivate(path string) bool {
	private := slices.Concat(namesOf(home()), slices.DeleteFunc(secretPlaces(), func(place string) bool { return !exists(place) }))
	return slices.ContainsFunc(namesOf(path), func(name string) bool {
		return holdsPerson(name) || slices.ContainsFunc(private, func(place string) bool { return within(place, name) })
	})
}

// isCertificates reports whether a variable of a program names certificates that it is to read. What a bundle or an entry
// of a project says would be a way to read any folder, so only what Junction itself was started with counts, and no
// folder of which certificates are a small part.
func isCertificates(name, value string) bool {
	return slices.Contains(certificates, name) && filepath.IsAbs(value) && value == os.Getenv(name) && !inSecret(value) && !holdsPrivate(value)
}

// junctionPlaces are where Junction keeps its settings, approvals, conversations and packages, and is spoken with.
func junctionPlaces() (places []string) {
	for _, folder := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		if dir, err := folder(); err == nil {
			places = append(places, namesOf(filepath.Join(dir, "junction"))...)
		}
	}
	if dir := os.Getenv("JUNCTION_STATE"); filepath.IsAbs(dir) {
		places = append(places, namesOf(dir)...)
	}
	return places
}

const (
	ofSecrets  = "it is where keys, logins or histories are kept"
	ofJunction = "it is where Junction keeps its settings, approvals and packages"
	ofPackage  = "it keeps data in its own package, where an upgrade loses it and where it could change itself; name another place in its arguments or variables"
)

// secretInHome is where people keep what no server needs unless they say so.
var secretInHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".password-store", ".pgpass", ".my.cnf", ".vault-token", ".terraform.d",
	".config/gcloud", ".config/gh", ".config/git/credentials", ".config/junction", ".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", ".local/share/keyrings",
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".claude.json", ".cursor", "Library/Keychains", "Library/Cookies", "Library/Messages", "Library/Mail",
	"Library/Application Support/Google", "Library/Application Support/Firefox",
}
