package refused

import (
	"encoding/json"
	"testing"
)

// A server's mark in the outcome of a task is removed in any spelling; the rest of the task stays.
func TestATaskLosesTheMark(t *testing.T) {
	const mark = `"io.github.junction-mcp/refus\u0065d":"rule"`
	for _, test := range []struct{ task, want string }{
		{`{"taskId":"1","status":"completed","result":{"content":[],"_meta":{"a":1,` + mark + `}}}`,
			`{"taskId":"1","status":"completed","result":{"content":[],"_meta":{"a":1}}}`},
		{`{"taskId":"1","status":"failed","error":{"code":1,"message":"m","data":{` + mark + `}}}`,
			`{"taskId":"1","status":"failed","error":{"code":1,"message":"m","data":{}}}`},
		{`{"taskId":"1","status":"completed","result":{"_meta":{"a":1}}, "x":{` + mark + `}}`,
			`{"taskId":"1","status":"completed","result":{"_meta":{"a":1}}, "x":{` + mark + `}}`},
		{`{"taskId":"1","status":"working"}`, `{"taskId":"1","status":"working"}`},
	} {
		if got := string(WithoutInTask(json.RawMessage(test.task))); got != test.want {
			t.Errorf("%s becomes\n%s, want\n%s", test.task, got, test.want)
		}
	}
}
