package runner

import (
	"slices"
	"strings"
)

// A Choice is what becomes of one word, or of a flag with its value, in front of a package that npx, uvx or dnx starts.
type Choice struct {
	At, Len int
	Words   []string // what is kept of it
	Program string   // it names a program of the package
	With    string   // it names a requirement in addition to the package
	Why     string   // it is left out for this; "": it is the runner's own, or the package again
}

// A family is what is known of the flags of a runner.
type family struct {
	programs []string // by which it is called, and words that may follow
	made     []string // flags that the command line has anyway
	others   []string // flags that have another package, program or place be used
	values   []string // further flags with a value that are kept
	plain    []string // flags without one that are kept
	package_ []string // flags that name the package itself
	with     []string // flags that name one more requirement
	version  string   // the flag that names the version
	behind   string   // a flag that the command line has behind the package
	isJoined bool     // -wNAME is -w NAME
}

// IsHint reports whether the flags that an author wrote for a program are those of the kind's runner.
func (k *Kind) IsHint(program string) bool {
	program = strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe")
	return program == "" || slices.Contains(k.hints, program)
}

// IsCall reports whether a word is one by which the kind's runner is called.
func (k *Kind) IsCall(word string) bool { return slices.Contains(k.flags.programs, word) }

// Choose takes the words apart that an author has a runner get before a package. Of a word that is no flag the runner would take the first for a
// package: it is understood as the program of this one, and those behind it as its arguments, which are rest.
func Choose(p Package, words []string) (choices []Choice, rest []string) {
	k := Of(p.Kind)
	f, runner := &k.flags, k.Start[0]
	for i := 0; i < len(words); {
		word := words[i]
		c := Choice{At: i, Len: 1}
		name, value, joined := strings.Cut(word, "=")
		isFlag := strings.HasPrefix(word, "-") && word != "-"
		if f.isJoined && isFlag && len(word) > 2 && word[1] != '-' && f.takes(word[:2]) {
			name, value, joined = word[:2], strings.TrimPrefix(word[2:], "="), true
		}
		if isFlag && f.takes(name) && !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			value, c.Len = words[i+1], 2
		}
		switch {
		case !isFlag && slices.Contains(f.programs, word) && i < len(f.programs) && slices.IndexFunc(words[:i], func(w string) bool { return !slices.Contains(f.programs, w) }) < 0:
		case word == "--":
		case !isFlag && IsSame(p, word):
			return append(choices, c), words[i+1:]
		case !isFlag && isProgram(word):
			c.Program = word
			return append(choices, c), without(words[i+1:], p)
		case !isFlag:
			c.Why = runner + " would take it for another package"
		case slices.Contains(f.made, name):
		case slices.Contains(f.package_, name) && IsSame(p, value):
		case slices.Contains(f.package_, name):
			c.Why = "it has " + runner + " use another package"
		case slices.Contains(f.others, name):
			c.Why = "it has " + runner + " use another program, package or place"
		case slices.Contains(f.with, name) && isRequirement(value):
			c.With = value
			c.Words = words[i : i+c.Len]
		case slices.Contains(f.with, name):
			c.Why = "it has " + runner + " use another place"
		case f.version != "" && name == f.version:
		case slices.Contains(f.values, name) && !joined && c.Len == 1:
			c.Why = "it has no value" // a flag that follows would be one for the runner
		case slices.Contains(f.values, name), slices.Contains(f.plain, word):
			c.Words = words[i : i+c.Len]
		default: // it may be another spelling of one that does more: npm takes -registry, --regis and --@scope:registry, uv --override, and .NET --source:URL
			c.Why = "it is not known what it has " + runner + " do"
		}
		choices = append(choices, c)
		i += c.Len
	}
	return choices, nil
}

// takes reports whether a flag has a value.
func (f *family) takes(name string) bool {
	return slices.ContainsFunc([][]string{f.values, f.others, f.package_, f.with}, func(names []string) bool { return slices.Contains(names, name) })
}

// without leaves out the package itself, which authors name once more behind its program.
func without(words []string, p Package) []string {
	if len(words) > 0 && IsSame(p, words[0]) {
		return words[1:]
	}
	return words
}

// IsSame reports whether a word names the package, with a version or without.
func IsSame(p Package, word string) bool {
	k, name := Of(p.Kind), p.Name
	if k.IsContainer {
		return word == name || bareImage(word) == bareImage(name)
	}
	if cut, is := strings.CutPrefix(word, name); is && (cut == "" || cut[0] == '@' || strings.HasPrefix(cut, "==")) {
		return true
	}
	return k.Canonical != nil && !strings.Contains(name, "[") && k.Canonical(bare(word)) == k.Canonical(name) // without the extras it may be its program
}

func bare(word string) string {
	if at := strings.IndexAny(word, "@=<>~![ "); at > 0 {
		return word[:at]
	}
	return word
}

// bareImage is the reference of an image without its tag and digest.
func bareImage(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		reference = reference[:colon]
	}
	return reference
}

// isProgram reports whether a word can be the name of a program of a package: no path, no address, no package with a scope or a version.
func isProgram(word string) bool {
	return word != "" && len(word) <= 100 && word != "." && word != ".." && !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

// isRequirement reports whether a text is a requirement of PyPI by name, and no address or path.
func isRequirement(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/\\@:;${} \t\n") && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, ".")
}
