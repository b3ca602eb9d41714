package runner

import (
	"slices"
	"strings"
)

// A Choice is the interpretation of one word, or of a flag with its value, before a package that
// npx, uvx or dnx starts.
type Choice struct {
	At, Len int
	Words   []string // words to keep
	Program string   // program of the package that it names
	With    string   // requirement in addition to the package that it names
	Why     string   // reason for dropping it; "": it is the runner's own, or the package again
}

// A family describes the flags of a runner.
type family struct {
	programs []string // its names, and words that may follow
	made     []string // flags that the command line has anyway
	others   []string // flags that select another package, program or place
	values   []string // other flags with a value to keep
	plain    []string // flags without a value to keep
	package_ []string // flags for the package itself
	with     []string // flags for one more requirement
	version  string   // flag for the version
	behind   string   // flag that the command line has after the package
	isJoined bool     // -wNAME means -w NAME
}

// IsHint reports whether the flags that an author wrote for a program are those of the kind's
// runner.
func (k *Kind) IsHint(program string) bool {
	program = strings.TrimSuffix(program[strings.LastIndexAny(program, `/\`)+1:], ".exe")
	return program == "" || slices.Contains(k.hints, program)
}

// IsCall reports whether a word calls the kind's runner.
func (k *Kind) IsCall(word string) bool { return slices.Contains(k.flags.programs, word) }

// Choose parses the words that an author puts before a package for a runner. The runner would take
// the first word without a hyphen for a package. Choose takes it for the program of this package,
// and returns the following words as rest, its arguments.
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
			c.Why = "it has no value" // a following flag would be for the runner
		case slices.Contains(f.values, name), slices.Contains(f.plain, word):
			c.Words = words[i : i+c.Len]
		default: // perhaps another spelling: npm accepts -registry, --@scope:registry, uv --override, .NET --source:URL
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

// without drops the package itself, which authors repeat after its program.
func without(words []string, p Package) []string {
	if len(words) > 0 && IsSame(p, words[0]) {
		return words[1:]
	}
	return words
}

// IsSame reports whether a word names the package, with or without a version.
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

// bareImage returns the reference of an image without its tag and digest.
func bareImage(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		reference = reference[:colon]
	}
	return reference
}

// isProgram reports whether a word can be the name of a program of a package: not a path, an
// address, or a package with a scope or a version.
func isProgram(word string) bool {
	return word != "" && len(word) <= 100 && word != "." && word != ".." && !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

// isRequirement reports whether a text is a requirement of PyPI by name, not an address or path.
func isRequirement(text string) bool {
	return text != "" && !strings.ContainsAny(text, "/\\@:;${} \t\n") && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, ".")
}
