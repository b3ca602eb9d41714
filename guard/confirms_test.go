package guard

import (
	"strings"
	"testing"
)

func TestConfirms(t *testing.T) {
	write := `{"path":"/home/ada/notes.txt","content":"buy milk"}`
	entities := `{"entities":[{"name":"Ada","entityType":"person","observations":["likes tea","lives in Rome"]}]}`
	for _, test := range []struct {
		name, arguments, result string
		want                    bool
	}{
		{"a written file", write, "Successfully wrote to /home/ada/notes.txt", true},
		{"a moved file", `{"source":"a.txt","destination":"b/c.txt"}`, "Successfully moved a.txt to b/c.txt", true},
		{"a created folder", `{"path":"new"}`, "Created directory new.", true},
		{"arguments in other order, as JSON", entities, `[{"entityType":"person","name":"Ada","observations":["likes tea","lives in Rome"]}]`, true},
		{"nothing", write, " \n", false},
		{"no argument", write, "Successfully wrote.", false},
		{"one more word", write, "Successfully wrote to /home/ada/notes.txt hunter2", false},
		{"another path", write, "Successfully wrote to /home/ada/diary.txt", false},
		{"a part of an argument", write, "buy", false},
		{"a number", write, "wrote 4711", false},
		{"whether it is there", write, "file exists", false},
		{"yes or no", `{"paid":true}`, "true", false},
		{"marks only", write, "...---...", false},
		{"text that is not ASCII", write, "wrote Grüße", false},
		{"the lines around an edit", `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`, " salary 100\n- x\n+ y\n", false},
		{"no JSON", `path`, "wrote path", false},
		{"many words", write, strings.Repeat("ok ", maxConfirmed+1), false},
		{"a long text", write, strings.Repeat(" ", maxConfirmation) + "ok", false},
	} {
		if got := Confirms([]byte(test.arguments), test.result); got != test.want {
			t.Errorf("%s: %q confirms: %v", test.name, test.result, got)
		}
	}
}

func TestConfirmsTakesNoAlphabet(t *testing.T) {
	for arguments, result := range map[string]string{
		`{"sql":"update x","p":["0","1","a","b","c","d","e","f"]}`:    "ok: d e a d b e e f 0 1",
		`{"path":"notes.txt","p":["zero","ones"]}`:                    "wrote zero ones ones zero",
		`{"n":["` + strings.Repeat(`word","`, 40) + `"],"f":"a.txt"}`: "wrote a.txt",
	} {
		if Confirms([]byte(arguments), result) {
			t.Errorf("%s of %.80s only confirms", result, arguments)
		}
	}
}
