package replay_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/junction-mcp/junction/model/replay"
)

func Example() {
	recording, err := replay.Parse([]byte(`{"turns": [{"expect": {"contains": ["hello"]}, "text": "Good day."}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(replay.Handler(recording))
	defer server.Close()

	body := `{"model": "any", "messages": [{"role": "user", "content": "hello"}]}`
	resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	fmt.Println(strings.Contains(string(answer), `"content":"Good day."`), err)
	// Output: true <nil>
}
