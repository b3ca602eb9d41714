package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseReads(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		kind     Kind
		id       ID
		method   string
		params   string
		result   string
		members  int
	}{
		{"a request", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`, Request, "7", "tools/call", `{"name":"echo"}`, "", 1},
		{"a request with members in any order", `{"params":{},"method":"ping","id":"a","jsonrpc":"2.0"}`, Request, `"a"`, "ping", "{}", "", 0},
		{"a request with space everywhere", " {\n\"jsonrpc\" :\t\"2.0\" , \"id\" : 1 ,\r\"method\" : \"ping\" } \n", Request, "1", "ping", "", "", 0},
		{"a request without params", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request, "1", "ping", "", "", 0},
		{"null params as none", `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, Request, "1", "ping", "", "", 0},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"total":2}}`, Notification, "", "notifications/progress", `{"progress":1,"total":2}`, "", 2},
		{"an id above 2^53 exactly", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, Request, "9007199254740993", "ping", "", "", 0},
		{"a negative id", `{"jsonrpc":"2.0","id":-1,"method":"ping"}`, Request, "-1", "ping", "", "", 0},
		{"a string id as it was spelled", `{"jsonrpc":"2.0","id":"\u0061\n","method":"ping"}`, Request, `"\u0061\n"`, "ping", "", "", 0},
		{"an empty string id", `{"jsonrpc":"2.0","id":"","method":"ping"}`, Request, `""`, "ping", "", "", 0},
		{"a method with escapes", `{"jsonrpc":"2.0","id":1,"method":"tools\/c\u0061ll"}`, Request, "1", "tools/call", "", "", 0},
		{"a long method", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 300) + `"}`, Request, "1", strings.Repeat("m", 300), "", "", 0},
		{"names with escapes", `{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping","par\u0061ms":{"a":1}}`, Request, "1", "ping", `{"a":1}`, "", 1},
		{"a version with escapes", `{"jsonrpc":"2\u002e0","id":1,"method":"ping"}`, Request, "1", "ping", "", "", 0},
		{"past unknown members", `{"jsonrpc":"2.0","x":[{"id":2}],"id":1,"method":"ping","Method":"pong"}`, Request, "1", "ping", "", "", 0},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"c"}}`, Response, "1", "", "", `{"tools":[],"nextCursor":"c"}`, 2},
		{"a result that is no object", `{"jsonrpc":"2.0","id":1,"result":[1,2]}`, Response, "1", "", "", "[1,2]", 0},
		{"a result that is null", `{"jsonrpc":"2.0","id":1,"result":null}`, Response, "1", "", "", "null", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, err := Parse([]byte(tt.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if msg.Kind != tt.kind || msg.ID != tt.id || msg.Method != tt.method || msg.Error != nil {
				t.Errorf("got %v %q %q error %v", msg.Kind, msg.ID, msg.Method, msg.Error)
			}
			if string(msg.Params) != tt.params || (msg.Params == nil) != (tt.params == "") {
				t.Errorf("got params %q, want %q", msg.Params, tt.params)
			}
			if string(msg.Result) != tt.result || (msg.Result == nil) != (tt.result == "") {
				t.Errorf("got result %q, want %q", msg.Result, tt.result)
			}
			if msg.Members.Len() != tt.members {
				t.Errorf("got %d members, want %d", msg.Members.Len(), tt.members)
			}
		})
	}
}

func TestParseReadsErrors(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		id       ID
		want     Error
	}{
		{"an error", `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no such\nmethod"}}`, "3", Error{-32601, "no such\nmethod", nil}},
		{"an error with data", `{"jsonrpc":"2.0","id":3,"error":{"data":{"a":1},"code":1,"message":""}}`, "3", Error{1, "", json.RawMessage(`{"a":1}`)}},
		{"an error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, "", Error{-32700, "x", nil}},
		{"an error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`, "", Error{-32700, "x", nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, err := Parse([]byte(tt.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if msg.Kind != Response || msg.ID != tt.id || msg.Result != nil || msg.Members.Len() != 0 {
				t.Errorf("got %v %q %q", msg.Kind, msg.ID, msg.Result)
			}
			if fmt.Sprint(*msg.Error) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", *msg.Error, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     int
		id       ID
		says     string
	}{
		{"nothing", ``, ParseError, "", "offset 0: expected a value, found the end of the input"},
		{"a cut message, naming its id", `{"jsonrpc":"2.0","id":5,"method":`, ParseError, "5", "offset 33: expected a value, found the end of the input"},
		{"a second message", `{"jsonrpc":"2.0","id":5,"method":"a"} {}`, ParseError, "5", "offset 38: expected the end of the input, found '{'"},
		{"a byte order mark", "\ufeff{}", ParseError, "", "offset 0: expected a value, found '\\ufeff'"},
		{"a batch", `[]`, InvalidRequest, "", "offset 0: expected an object, found '['"},
		{"a number", ` 1`, InvalidRequest, "", "offset 1: expected an object, found '1'"},
		{"no version", `{"id":5,"method":"a"}`, InvalidRequest, "5", `expected "jsonrpc":"2.0", found no member "jsonrpc"`},
		{"another version", `{"jsonrpc":"1.0","id":5,"method":"a"}`, InvalidRequest, "5", `offset 11: expected "jsonrpc" to be "2.0", found '"'`},
		{"a version that is a number", `{"jsonrpc":2.0,"id":5,"method":"a"}`, InvalidRequest, "5", `offset 11: expected "jsonrpc" to be "2.0", found '2'`},
		{"names in another case", `{"jsonrpc":"2.0","id":5,"Method":"a"}`, InvalidRequest, "5", "expected a method, a result or an error, found none of them"},
		{"a method that is no string", `{"jsonrpc":"2.0","id":5,"method":7}`, InvalidRequest, "5", "offset 33: expected a string as the method, found '7'"},
		{"params that are an array", `{"jsonrpc":"2.0","id":5,"method":"a","params":[]}`, InvalidRequest, "5", "offset 46: expected params to be an object, found '['"},
		{"params without a method", `{"jsonrpc":"2.0","id":5,"result":{},"params":{}}`, InvalidRequest, "5", "offset 45: expected params to come with a method, found '{'"},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"a"}`, InvalidRequest, "", "offset 22: expected an id that is a string or an integer, found 'n'"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"a"}`, InvalidRequest, "", "offset 22: expected an id that is a string or an integer, found '{'"},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"a"}`, InvalidRequest, "", "offset 22: expected an id that is an integer in plain digits, found '1'"},
		{"an id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"a"}`, InvalidRequest, "", "offset 22: expected an id that is an integer in plain digits, found '1'"},
		{"an id of 257 bytes", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 255) + `","method":"a"}`, InvalidRequest, "", "offset 22: expected an id of at most 256 bytes, found '\"'"},
		{"a method and a result", `{"jsonrpc":"2.0","id":5,"method":"a","result":{}}`, InvalidRequest, "5", "expected a method or a result or an error, found a method and another of them"},
		{"a result and an error", `{"jsonrpc":"2.0","id":5,"result":{},"error":null}`, InvalidRequest, "5", "expected a result or an error, found both"},
		{"a result without an id", `{"jsonrpc":"2.0","result":{}}`, InvalidRequest, "", "expected a result to have an id, found none"},
		{"a result with id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, InvalidRequest, "", "offset 22: expected an id that is a string or an integer, found 'n'"},
		{"an error that is a string", `{"jsonrpc":"2.0","id":5,"error":"no"}`, InvalidRequest, "5", "offset 32: expected error to be an object, found '\"'"},
		{"an error without a message", `{"jsonrpc":"2.0","id":5,"error":{"code":1}}`, InvalidRequest, "5", "offset 32: expected error to have a code and a message, found '{'"},
		{"an error with a fraction as its code", `{"jsonrpc":"2.0","id":5,"error":{"code":1.5,"message":""}}`, InvalidRequest, "5", "offset 32: expected error to have an integer as its code, found '{'"},
		{"an envelope name twice", `{"jsonrpc":"2.0","id":5,"method":"a","method":"b"}`, InvalidRequest, "5", `offset 37: expected each name once in an object, found "method" twice`},
		{"a name twice inside params, naming the id behind them", `{"jsonrpc":"2.0","method":"a","params":{"b":[{"c":1,"\u0063":2}]},"id":5}`, InvalidRequest, "5", `expected each name once in an object, found "c" twice`},
		{"a syntax fault before a repeated name", `{"a":1,"a":2,}`, ParseError, "", "offset 13: expected a member name in quotes, found '}'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, err := Parse([]byte(tt.in), Limits{})
			if err == nil {
				t.Fatalf("accepted as %v", msg.Kind)
			}
			if err.Code != tt.code || err.Message != tt.says {
				t.Errorf("got  %d %s\nwant %d %s", err.Code, err.Message, tt.code, tt.says)
			}
			if msg.ID != tt.id || msg.Kind != 0 || msg.Params != nil {
				t.Errorf("got message %v %q %q, want only id %q", msg.Kind, msg.ID, msg.Params, tt.id)
			}
		})
	}
}

func TestParseAllocatesOnceForACall(t *testing.T) {
	for _, in := range [][]byte{legacyCall, modernCall} {
		if n := testing.AllocsPerRun(100, func() { Parse(in, Limits{}) }); n > 1 {
			t.Errorf("%v allocations for %s", n, in)
		}
	}
}

func TestParamsCannotBeAppendedTo(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","params":{"a":1},"method":"m"}`)
	before := string(in)
	msg, err := Parse(in, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_ = append(msg.Params, 'x')
	_ = append(msg.Members.Get("a"), 'x')
	if string(in) != before {
		t.Errorf("appending to params wrote over the input: %s", in)
	}
}

func TestSplitBatch(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     int
		want     []string
	}{
		{"splits into raw values", ` [ {"a":[1,2]} ,"b]", 3 ] `, 0, []string{`{"a":[1,2]}`, `"b]"`, "3"}},
		{"leaves a repeated name to its element", `[{"a":1,"a":2},{}]`, 0, []string{`{"a":1,"a":2}`, `{}`}},
		{"refuses an empty array", `[ ]`, InvalidRequest, nil},
		{"refuses one element too many", `[1,2,3,4]`, InvalidRequest, nil},
		{"refuses an object", `{}`, InvalidRequest, nil},
		{"refuses a cut array", `[1,2`, ParseError, nil},
		{"refuses a comma at the end", `[1,]`, ParseError, nil},
		{"refuses nothing", ``, ParseError, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SplitBatch([]byte(tt.in), 3, Limits{})
			if code := codeOf(err); code != tt.code {
				t.Fatalf("got %v, want code %d", err, tt.code)
			}
			if fmt.Sprintf("%s", got) != fmt.Sprintf("%s", tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func codeOf(err *Error) int {
	if err == nil {
		return 0
	}
	return err.Code
}

func TestIsBatch(t *testing.T) {
	for in, want := range map[string]bool{"[": true, " \n\t\r[1]": true, "{}": false, "": false, " ": false, "x[": false} {
		if IsBatch([]byte(in)) != want {
			t.Errorf("IsBatch(%q) = %v", in, !want)
		}
	}
}

func TestKindNames(t *testing.T) {
	if got := fmt.Sprint(Request, Notification, Response, Kind(9)); got != "request notification response Kind(9)" {
		t.Error(got)
	}
}
