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

// tools are like those of real servers.
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
		{"a sum is two numbers", "add 2+40", "everything__add", `{"a":2,"b":40}`},
		{"numbers may be negative and have a fraction", "please add -1.5 to 2e3", "everything__add", `{"a":-1.5,"b":2e3}`},
		{"pairs go by their names", "add b=1 a=2", "everything__add", `{"a":2,"b":1}`},
		{"a pair may have a colon", "add a: 2, b: 3", "everything__add", `{"a":2,"b":3}`},
		{"a pair and a number", "add b=1 7", "everything__add", `{"a":7,"b":1}`},
		{"a whole name is a name", "everything__add 1 2", "everything__add", `{"a":1,"b":2}`},
		{"a question with words around", "Can you add 17 and 25 for me?", "everything__add", `{"a":17,"b":25}`},
		{"the rest is the text", "echo hello world", "everything__echo", `{"message":"hello world"}`},
		{"an article belongs to the text", "echo the quick brown fox!", "everything__echo", `{"message":"the quick brown fox!"}`},
		{"a text may be numbers", "echo 42", "everything__echo", `{"message":"42"}`},
		{"a text may have numbers in it", "echo 2 and 40 are 42", "everything__echo", `{"message":"2 and 40 are 42"}`},
		{"a quoted text is one", `echo "then; echo"`, "everything__echo", `{"message":"then; echo"}`},
		{"a quoted value of a pair is one", `echo message="a \"b\" c"`, "everything__echo", `{"message":"a \"b\" c"}`},
		{"a text of a pair goes on", "echo message=hello world", "everything__echo", `{"message":"hello world"}`},
		{"a text behind a colon goes on", "echo message: hello, world", "everything__echo", `{"message":"hello, world"}`},
		{"an article before the parameter's name is left out", "echo the message hello", "everything__echo", `{"message":"hello"}`},
		{"a key the tool has not can be its text", "echo x=1", "everything__echo", `{"message":"x=1"}`},
		{"an apostrophe is no quote", "echo don't panic, it's fine", "everything__echo", `{"message":"don't panic, it's fine"}`},
		{"other alphabets are text", "echo Grüße 你好 👋", "everything__echo", `{"message":"Grüße 你好 👋"}`},
		{"a number that is not required", "list primes below 50", "everything__list-primes", `{"below":50}`},
		{"nothing is required", "list the primes", "everything__list-primes", `{}`},
		{"a choice is mentioned", "pick something in ASIA", "everything__pick", `{"region":"asia"}`},
		{"a path decides between two tools", "delete old/notes.txt", "files__delete", `{"path":"old/notes.txt"}`},
		{"a name decides between two tools", "delete name=Bob", "everything__delete", `{"name":"Bob"}`},
		{"a path is found among words", "read the file /etc/hosts please", "files__read-file", `{"path":"/etc/hosts"}`},
		{"a number behind its name", "read file a.txt tail 5", "files__read-file", `{"path":"a.txt","tail":5}`},
		{"a path with a space is quoted", `read file "my notes.txt"`, "files__read-file", `{"path":"my notes.txt"}`},
		{"several paths are a list", "read files a.txt, b.txt and c.txt", "files__read-files", `{"paths":["a.txt","b.txt","c.txt"]}`},
		{"a text and where it goes", "write file hello there to notes.txt", "files__write-file", `{"path":"notes.txt","content":"hello there"}`},
		{"a boolean is mentioned", `write file notes.txt "hi" overwrite`, "files__write-file", `{"path":"notes.txt","content":"hi","overwrite":true}`},
		{"a boolean is denied", `write file notes.txt "hi" without overwrite`, "files__write-file", `{"path":"notes.txt","content":"hi","overwrite":false}`},
		{"two paths go by their order", "move a.txt b.txt", "files__move", `{"from":"a.txt","to":"b.txt"}`},
		{"two paths go by their names", "move to b.txt from a.txt", "files__move", `{"from":"a.txt","to":"b.txt"}`},
		{"what is asked for follows a preposition", "what is the weather in New York?", "weather__get_weather", `{"city":"New York"}`},
		{"a number behind a text", "weather city: Oslo, days: 3", "weather__get_weather", `{"city":"Oslo","days":3}`},
		{"a number before its name", "get the weather for Oslo for 3 days", "weather__get_weather", `{"city":"Oslo","days":3}`},
		{"the verb of another tool can be part of a text", "echo wash and delete", "everything__echo", `{"message":"wash and delete"}`},
		{"an address goes where it belongs", `send email to ada@example.com subject "Hi" body "See you"`, "mail__send_email", `{"to":"ada@example.com","body":"See you","subject":"Hi"}`},
		{"an address and the rest", "send an email to ada@example.com: see you at 5", "mail__send_email", `{"to":"ada@example.com","body":"see you at 5"}`},
		{"a URL is no pair", "fetch https://example.com/a?b=c", "web__fetch", `{"url":"https://example.com/a?b=c"}`},
		{"a URL loses the full stop", "fetch the page https://example.com.", "web__fetch", `{"url":"https://example.com"}`},
		{"numbers are a list", "average 1, 2 and 3.5", "calc__average", `{"numbers":[1,2,3.5]}`},
		{"numbers without spaces are a list", "average of 1,2,3", "calc__average", `{"numbers":[1,2,3]}`},
		{"dates go by their order", "find events between 2026-01-02 and 2026-02-03", "cal__find_events", `{"start":"2026-01-02","end":"2026-02-03"}`},
		{"an object is JSON", `query "select 1" {"a":[1,2]}`, "db__query", `{"sql":"select 1","params":{"a":[1,2]}}`},
		{"words are a list", "set tags red, green and blue", "tags__set_tags", `{"tags":["red","green","blue"]}`},
		{"a pair can be a list", "set tags tags=red,green", "tags__set_tags", `{"tags":["red","green"]}`},
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
