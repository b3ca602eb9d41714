package offline_test

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
)

func tool(name, description, properties, required string) model.Tool {
	return model.Tool{Name: name, Description: description,
		Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`)}
}

// tools returns tools like those of real servers.
func tools() []model.Tool {
	return []model.Tool{
		tool("everything__add", "Add two numbers.", `"a":{"type":"number","description":"First number."},"b":{"type":"number","description":"Second number."}`, `"a","b"`),
		tool("everything__echo", "Return the message unchanged.", `"message":{"type":"string"}`, `"message"`),
		tool("everything__list-primes", "List prime numbers.", `"below":{"type":"integer","minimum":0,"maximum":10000,"default":30}`, ``),
		tool("everything__delete", "Pretend to delete something.", `"name":{"type":"string"}`, `"name"`),
		tool("everything__pick", "Take an argument.", `"region":{"type":"string","enum":["eu","us","asia"]},"item":{"type":"string"}`, `"region"`),
		tool("files__read-file", "Read a file: text as text.", `"path":{"type":"string","description":"Absolute path."},"lines":{"type":"integer"},"tail":{"type":"integer"}`, `"path"`),
		tool("files__read-files", "Read several text files at once.", `"paths":{"type":"array","items":{"type":"string"}}`, `"paths"`),
		tool("files__write-file", "Create a file.", `"path":{"type":"string"},"content":{"type":"string"},"overwrite":{"type":"boolean"}`, `"path","content"`),
		tool("files__move", "Move or rename a file or folder.", `"from":{"type":"string","description":"What to move: a path."},"to":{"type":"string","description":"Its new path."}`, `"from","to"`),
		tool("files__delete", "Delete a file, a link, or an empty folder.", `"path":{"type":"string"}`, `"path"`),
		tool("weather__get_weather", "Get the current weather for a city.", `"city":{"type":"string"},"days":{"type":"integer"},"units":{"$ref":"#/$defs/units"}`, `"city"`),
		tool("mail__send_email", "Send an email to someone.", `"to":{"type":"string","format":"email"},"subject":{"type":"string"},"body":{"type":"string"}`, `"to","body"`),
		tool("web__fetch", "Fetch a page of the web.", `"url":{"type":"string","format":"uri"},"raw":{"type":"boolean"}`, `"url"`),
		tool("calc__average", "Compute the average of a list of numbers.", `"numbers":{"type":"array","items":{"type":"number"}}`, `"numbers"`),
		tool("cal__find_events", "Find events of the calendar between two dates.", `"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"}`, `"start","end"`),
		tool("db__query", "Run a SQL query on the database.", `"sql":{"type":"string"},"params":{"type":"object"}`, `"sql"`),
		tool("tags__set_tags", "Set the tags of an item.", `"tags":{"type":"array","items":{"type":"string"}}`, `"tags"`),
		tool("host__sum", "Sum with optional decimals.", `"x":{"anyOf":[{"type":"integer"},{"type":"null"}]},"y":{"type":["integer","null"]}`, `"x","y"`),
	}
}

func asking(text string) *model.Request {
	return &model.Request{Messages: []model.Message{model.UserText(text)}, Tools: tools()}
}

func generate(t *testing.T, req *model.Request) *model.Response {
	t.Helper()
	if err := model.Check(req); err != nil {
		t.Fatalf("the test's request is not valid: %v", err)
	}
	streamed := ""
	resp, err := offline.New().Generate(t.Context(), req, func(d model.Delta) {
		streamed += d.Text
		if d.Call != nil {
			streamed += d.Call.Name + d.Call.Arguments
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := resp.Message.Text()
	for _, c := range resp.Message.Calls() {
		whole += c.Name + string(c.Arguments)
	}
	if streamed != whole {
		t.Errorf("streamed %q, and returned %q", streamed, whole)
	}
	return resp
}

func TestAQuestionBecomesACall(t *testing.T) {
	for _, test := range []struct{ name, question, tool, arguments string }{
		{"numbers go by their order", "add 2 and 40", "everything__add", `{"a":2,"b":40}`},
		{"numbers may be negative and have a fraction", "please add -1.5 to 2e3", "everything__add", `{"a":-1.5,"b":2e3}`},
		{"pairs go by their names", "add b=1 a=2", "everything__add", `{"a":2,"b":1}`},
		{"a pair and a number", "add b=1 7", "everything__add", `{"a":7,"b":1}`},
		{"a whole name is a name", "everything__add 1 2", "everything__add", `{"a":1,"b":2}`},
		{"a question with words around", "Can you add 17 and 25 for me?", "everything__add", `{"a":17,"b":25}`},
		{"the rest is the text", "echo hello world", "everything__echo", `{"message":"hello world"}`},
		{"an article belongs to the text", "echo the quick brown fox!", "everything__echo", `{"message":"the quick brown fox!"}`},
		{"a text may be numbers", "echo 42", "everything__echo", `{"message":"42"}`},
		{"a text may have numbers in it", "echo 2 and 40 are 42", "everything__echo", `{"message":"2 and 40 are 42"}`},
		{"a quoted text is one", `echo "then; echo"`, "everything__echo", `{"message":"then; echo"}`},
		{"a quoted value of a pair is one", `echo message="a \"b\" c"`, "everything__echo", `{"message":"a \"b\" c"}`},
		{"an apostrophe is no quote", "echo don't panic, it's fine", "everything__echo", `{"message":"don't panic, it's fine"}`},
		{"other alphabets are text", "echo Grüße 你好 👋", "everything__echo", `{"message":"Grüße 你好 👋"}`},
		{"a number that is not required", "list primes below 50", "everything__list-primes", `{"below":50}`},
		{"nothing is required", "list the primes", "everything__list-primes", `{}`},
		{"a name decides between two tools", "delete name=Bob", "everything__delete", `{"name":"Bob"}`},
		{"a path with a space is quoted", `read file "my notes.txt"`, "files__read-file", `{"path":"my notes.txt"}`},
		{"a pair beside texts", `send_email to=ada@example.com body="See you; then" subject=Hi`, "mail__send_email", `{"to":"ada@example.com","body":"See you; then","subject":"Hi"}`},
		{"quoted texts go by their order", `move "a b.txt" "c.txt"`, "files__move", `{"from":"a b.txt","to":"c.txt"}`},
		{"a name decides between two tools of one name", "files__delete a.txt", "files__delete", `{"path":"a.txt"}`},
		{"a boolean is a pair", `write-file path=a content="b c" overwrite=true`, "files__write-file", `{"path":"a","content":"b c","overwrite":true}`},
		{"a pair can be a list of numbers", "average numbers=[1,2,3.5]", "calc__average", `{"numbers":[1,2,3.5]}`},
		{"an object is JSON", `query sql="select 1" params:={"a":[1,2]}`, "db__query", `{"sql":"select 1","params":{"a":[1,2]}}`},
		{"a URL is no pair", "fetch https://example.com/a?b=c", "web__fetch", `{"url":"https://example.com/a?b=c"}`},
		{"a pair can be JSON", `set tags tags:=["red"]`, "tags__set_tags", `{"tags":["red"]}`},
		{"a type with null is the type", "sum 1 2", "host__sum", `{"x":1,"y":2}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp := generate(t, asking(test.question))
			calls := resp.Message.Calls()
			if len(calls) != 1 || resp.Stop != model.StopCalls {
				t.Fatalf("%q: %q", test.question, resp.Message.Text())
			}
			if calls[0].Name != test.tool || string(calls[0].Arguments) != test.arguments {
				t.Errorf("%q is %s %s; want %s %s", test.question, calls[0].Name, calls[0].Arguments, test.tool, test.arguments)
			}
		})
	}
}
