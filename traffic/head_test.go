package traffic

import "testing"

// Some encoders write each / as \/, which is the same method.
func TestAMessageIsReadWhateverItsEncoderEscapes(t *testing.T) {
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
		got := headOf([]byte(message))
		if got.kind != want.kind || got.method != want.method || got.name != want.name {
			t.Errorf("%s: got %s %q of %q", message, got.kind, got.method, got.name)
		}
	}
}
