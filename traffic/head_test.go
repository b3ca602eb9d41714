package traffic

import (
	"encoding/json"
	"testing"
)

// TestEscapedMessagesAreRead covers encoders that write each / as \/, which is the
// same method.
func TestEscapedMessagesAreRead(t *testing.T) {
	for message, want := range map[string]head{
		`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"a\/b"}}`:                                {kind: Request, method: "tools/call", name: "a/b"},
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                                  {kind: Notification, method: "notifications/initialized"},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":"u","name":"n"}}`:                                   {kind: Request, method: "m", name: "n"},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"n","uri":"u"}}`:                                   {kind: Request, method: "m", name: "n"},
		`{"jsonrpc":"2.0","id":1,"result":{"method":"no"}}`:                                                       {kind: Response},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`:                                       {kind: Error},
		`{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"tools/call","p\u0061rams":{"n\u0061me":"n","ur\u0069":"u"}}`: {kind: Request, method: "tools/call", name: "n"},
		`{"jsonrpc":"2.0","id":1,"r\u0065sult":{}}`:                                                               {kind: Response},
		`{"jsonrpc":"2.0","id":1,"\u0065rror":{}}`:                                                                {kind: Error},
		`{"jsonrpc":"2.0","meth\/od":"no","met\hod":""}`:                                                          {},
		`[]`: {},
	} {
		var got head
		got.read([]byte(message))
		if got.kind != want.kind || got.method != want.method || got.name != want.name {
			t.Errorf("%s: got %s %q of %q", message, got.kind, got.method, got.name)
		}
	}
}

// TestRedactionKeepsMessagesReadable checks that reading together with hiding finds the same
// members as a walk through the message.
func TestRedactionKeepsMessagesReadable(t *testing.T) {
	for message, asIs := range map[string]bool{
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n","arguments":{"name":"no","uri":"no"},"requestState":"s","_meta":{"name":"no"}}}`: true,
		`{"id":1,"params":{"uri":"u"},"method":"resources/read"}`:                                                                                 true,
		`{"id":1,"params":{"uri":"u"},"method":"m","name":"no"}`:                                                                                  true,
		`{"id":1,"method":"a","method":"b","params":{"name":"x"},"params":{"name":"y"}}`:                                                          true,
		`{"id":1,"method":"m","params":[{"name":"no"}]}`:                                                                                          true,
		`{"id":1,"method":"initialize","params":{"clientInfo":{"title":"t","name":"me","version":"2"}}}`:                                          true,
		`{"id":1,"result":{"requestState":"no","name":"no"},"error":{"name":"no"}}`:                                                               true,
		`{"id":1,"result":{"content":[{"isError":false}],"isError":true}}`:                                                                        true,
		`{"id":1,"method":"tools/call","params":{"name":"n","arguments":{"password":"x"},"uri":"u"}}`:                                             false,
		`{"id":1,"method":"tools/call","params":{"arguments":{"text":"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"name":"n","requestState":"s"}}`: false,
		`{"id":1,"method":"m","params":{"name":"a\nb"}}`:                                                                                          true,
		`{"id": 1, "method": "m"}`: false,
	} {
		var got, walked head
		if is := got.read([]byte(message)); is != asIs {
			t.Errorf("%s: it may be shown as it is: %v", message, is)
		}
		walked.read([]byte(" " + message))
		for _, pair := range [][2]string{{got.kind, walked.kind}, {string(got.id), string(walked.id)}, {got.method, walked.method}, {got.name, walked.name},
			{got.client, walked.client}} {
			if pair[0] != pair[1] {
				t.Errorf("%s: got %q, a walk has %q", message, pair[0], pair[1])
			}
		}
		if got.failed != walked.failed {
			t.Errorf("%s: failed is %v", message, got.failed)
		}
		e := Event{Kind: got.kind, Message: json.RawMessage(message)}
		if e.hideMessage(nil); asIs && string(e.Message) != message {
			t.Errorf("%s: shown is %s", message, e.Message)
		}
	}
}

func TestAnEventThatSaysThatSomethingFailedIsOneThatFailed(t *testing.T) {
	for message, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`:      true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isErro\u0072":true}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`:     false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"isError":true}]}}`:     false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`:                     false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`:            true,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"isError":true}}`:      false,
		`no message`: true,
	} {
		passed := Event{Message: json.RawMessage(message)}
		if passed.readMessage(); passed.Failed() != want {
			t.Errorf("%s: failed is %v", message, !want)
		}
		known := Event{Kind: passed.Kind, Message: json.RawMessage(message)} // from another process
		if known.Failed() != want {
			t.Errorf("%s of another process: failed is %v", message, !want)
		}
	}
}
