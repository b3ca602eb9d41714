package runner

import (
	"slices"
	"strings"
)

// A Choice is the interpretation of one word, or of a flag with its value, before the package that
// npx, uvx or dnx starts.
type Choice struct {
	At, Len int
	Words   []string // words to keep in the command line
	Program string   // program of the package that the words select
	With    string   // additional requirement that the words contain
	Why     string   // reason why the words are dropped; empty if Junction sets them itself or if they are the package again
}

// A family describes the flags of a runner.
type family struct {
	programs []string // names of the runner, and words that can follow them
	made     []string // flags that the command line contains anyway
	others   []string // flags that select another package, program or location
	values   []string // other flags with a value, which are kept
	plain    []string // flags without a value, which are kept
	package_ []string // flags whose value is the package itself
	with     []string // flags whose value is an additional requirement
	version  string   // flag whose value is the version
	behind   string   // flag that the command line contains after the package
	isJoined bool     // -wNAME has the same meaning as -w NAME
}

// IsHint reports whether flags that an author wrote for a program are flags of the kind's runner.
func (k *Kind) IsHint(program string) bool {
	program = strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe")
	return program == "" || slices.Contains(k.hints, program)
}

// IsCall reports whether a word is a name of the kind's runner.
func (k *Kind) IsCall(word string) bool { return slices.Contains(k.flags.programs, word) }

// Choose parses the words that an author placed before a package, for the package's runner. The
// runner would treat the first word without a hyphen as a package. Choose treats it as the program
// of this package, and returns the words after it as rest, the arguments of the program.
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
			c.Why = "it has no value" // the runner would take the next flag as its value
		case slices.Contains(f.values, name), slices.Contains(f.plain, word):
			c.Words = words[i : i+c.Len]
		default: // possibly another spelling: npm accepts -registry, --@scope:registry, uv --override, .NET --source:URL
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

// without removes the package itself from the beginning of words. Authors often repeat it after its
// program.
func without(words []string, p Package) []string {
	if len(words) > 0 && IsSame(p, words[0]) {
		return words[1:]
	}
	return words
}

// IsSame reports whether a word is the name of the package, with or without a version.
func IsSame(p Package, word string) bool {
	k, name := Of(p.Kind), p.Name
	if k.IsContainer {
		return word == name || bareImage(word) == bareImage(name)
	}
	if cut, is := strings.CutPrefix(word, name); is && (cut == "" || cut[0] == '@' || strings.HasPrefix(cut, "==")) {
		return true
	}
	return k.Canonical != nil && !strings.Contains(name, "[") && k.Canonical(bare(word)) == k.Canonical(name) // a name without the package's extras may be the name of its program
}

func bare(word string) string {
	if at := strings.IndexAny(word, "@=<>~![ "); at > 0 {
		return word[:at]
	}
	return word
}

// bareImage returns an image reference without its tag and digest.
func bareImage(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		reference = reference[:colon]
	}
	return reference
}

// isProgram reports whether a word can be the name of a program in a package. A path, an address,
// and a package with a scope or a version cannot.
func isProgram(word string) bool {
	return word != "" && len(word) <= 100 && word != "." && word != ".." && !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

// isRequirement reports whether a text is a requirement with a name on PyPI, and not an address or
// a path.
func isRequirement(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/\\@:;${} \t\n") && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, ".")
}
