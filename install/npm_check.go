package install

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	npmExact     = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?$`)
	npmIntegrity = regexp.MustCompile(`^sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2}(?: sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2})*$`) // npm checks nothing by what it cannot read
)

// npmNames are a list of names; some packages have true or false in its place, which names none.
type npmNames []string

func (n *npmNames) UnmarshalJSON(text []byte) error {
	var list []string
	if json.Unmarshal(text, &list) == nil {
		*n = list
	}
	return nil
}

const nodeModules = "/node_modules/"

// check refuses what npm could be led by to anything but packages of the registry, each with a hash. A lock may come from
// anybody, so what npm itself would write is no measure.
func (e npmEntry) check(folder string, isBundled bool) error {
	name := nameOfNPM(folder, e)
	if e.Link || e.Integrity == "" && !isBundled {
		return fmt.Errorf("its dependency %s comes from %s, with no hash to know it by again: only packages of a registry can be locked", name, cmp.Or(e.Resolved, "a folder"))
	}
	if e.Integrity != "" && !npmIntegrity.MatchString(e.Integrity) {
		return fmt.Errorf("its dependency %s has the hash %.100q, by which it cannot be known again: sha256, sha384 or sha512 is needed", name, e.Integrity)
	}
	for part := range strings.SplitSeq("/"+folder, nodeModules) {
		if part != "" && !npmName.MatchString(part) {
			return fmt.Errorf("npm's lock has a package at %.100q, which is no folder of one", folder)
		}
	}
	if !npmName.MatchString(name) {
		return fmt.Errorf("its dependency at %s has the name %.100q, which is not one of npm", folder, name)
	}
	if !npmExact.MatchString(e.Version) {
		return fmt.Errorf("its dependency %s has the version %.100q, which is not an exact one", name, e.Version)
	}
	for _, wanted := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
		for of, version := range wanted {
			if err := checkRange(version); err != nil {
				return fmt.Errorf("its dependency %s wants %.100s as %.100q: %w", name, of, version, err)
			}
		}
	}
	return nil
}

// checkRange refuses an address, a folder or a repository in place of a version. Another name for a package is common.
func checkRange(version string) error {
	if !strings.ContainsAny(version, ":/") {
		return nil
	}
	alias, ok := strings.CutPrefix(version, "npm:")
	at := strings.LastIndexByte(alias, '@')
	if !ok || at <= 0 || !npmName.MatchString(alias[:at]) || !npmVersion.MatchString(alias[at+1:]) {
		return errors.New("only packages of a registry can be locked")
	}
	return nil
}

// bundledNPM are the folders of packages that lie in the archive of another one, whose hash stands for them. What a lock says of it
// (inBundle) does not count: npm finds out by itself, in this way, and downloads all others.
func bundledNPM(entries map[string]npmEntry) map[string]string {
	bundler := map[string]string{}
	var queue []string
	add := func(folder, by string) {
		if _, is := entries[folder]; is && bundler[folder] == "" {
			bundler[folder] = by
			queue = append(queue, folder)
		}
	}
	inside := map[string][]string{}
	for folder, e := range entries {
		inside[aboveNPM(folder)] = append(inside[aboveNPM(folder)], folder)
		for _, name := range e.BundleDependencies {
			add(folder+nodeModules+name, folder)
		}
	}
	for len(queue) > 0 {
		folder := queue[0]
		queue = queue[1:]
		by, e := bundler[folder], entries[folder]
		for _, child := range inside[folder] {
			add(child, by)
		}
		for _, wanted := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
			for name := range wanted {
				// Where npm finds it further up than in the archive's own folder, it is none of the archive.
				if found := findNPM(entries, folder, name); found != "" && aboveNPM(found) == by {
					add(found, by)
				}
			}
		}
	}
	return bundler
}

// aboveNPM is the folder of the package in whose node_modules a folder is; "" for the topmost one.
func aboveNPM(folder string) string {
	return folder[:max(0, strings.LastIndex(folder, nodeModules))]
}

// findNPM is where Node finds a package that another one asks for; "" where it is not there.
func findNPM(entries map[string]npmEntry, from, name string) string {
	for at := from; ; at = aboveNPM(at) {
		if found := strings.TrimPrefix(at+nodeModules+name, "/"); entries[found].Version != "" {
			return found
		}
		if at == "" {
			return ""
		}
	}
}

// noArchive is the hash of no bytes, which no archive has. npm downloads a package that should be in the archive of another one
// and is not; that fails by this hash, as there is none to check it by.
const noArchive = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
