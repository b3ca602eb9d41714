package integration

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/replay"
)

// alarms is what the database of alarm events holds: 10,000 events of nine types, each
// with a count of its own, in an order in which no type stands together. Some names are
// hard to write as CSV.
const alarms = `CREATE DATABASE noc;
CREATE TABLE noc.alarm_event (id INT PRIMARY KEY, raised_at DATETIME NOT NULL, device VARCHAR(20) NOT NULL, type VARCHAR(40) NOT NULL, severity ENUM('minor','major','critical') NOT NULL);
INSERT INTO noc.alarm_event SELECT seq, '2026-01-01' + INTERVAL (seq * 53) SECOND, CONCAT('device-', seq MOD 97), CASE WHEN (seq * 7919) MOD 10000 < 3101 THEN 'LINK_DOWN' WHEN (seq * 7919) MOD 10000 < 5304 THEN 'Fan failure, tray 2' WHEN (seq * 7919) MOD 10000 < 6811 THEN 'Übertemperatur' WHEN (seq * 7919) MOD 10000 < 7920 THEN 'Door "A" open' WHEN (seq * 7919) MOD 10000 < 8801 THEN 'POWER_LOSS' WHEN (seq * 7919) MOD 10000 < 9324 THEN 'BATTERY_LOW' WHEN (seq * 7919) MOD 10000 < 9724 THEN 'CLOCK_DRIFT' WHEN (seq * 7919) MOD 10000 < 9923 THEN 'LICENSE_EXPIRED' ELSE 'CONFIG_CHANGED' END, ELT(1 + seq MOD 3, 'minor', 'major', 'critical') FROM noc.seq_1_to_10000;
CREATE USER 'reader'@'%' IDENTIFIED BY 'reading';
GRANT SELECT ON noc.* TO 'reader'@'%';
`

const alarmQuestion = "Which alarm types are there? Count the five most frequent and save them as CSV in "

// A writer is a server that can write a file.
type writer struct {
	server, tool string
	long         bool // its definitions are left to tool search
	argv         func(t testing.TB, dir string) []string
}

var (
	commander = writer{"commander", "write_file", true, func(t testing.TB, _ string) []string {
		argv := npmServer("@wonderwhy-er/desktop-commander/dist/index.js", "--no-onboarding")(t)
		return append([]string{program(t, "env"), "HOME=" + t.TempDir()}, argv...)
	}}
	npmFilesystem = writer{"files", "write_file", false, func(t testing.TB, dir string) []string {
		return npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", dir)(t)
	}}
	ownFilesystem = writer{"files", "write-file", false, func(t testing.TB, dir string) []string {
		return []string{junction(t), "serve", "filesystem", "--root", dir, "--write", "--stdio"}
	}}
)

// recording is the exchange in which the writer writes to the path. It does not hold the
// answer: what the model writes is made from what the tools returned.
func (w writer) recording(path string) []replay.Turn {
	query := func(sql string) []replay.Call {
		return callOf("execute_query", object{"database": "noc", "query": sql})
	}
	turns := []replay.Turn{
		{
			Expect: replay.Expect{Last: "user", Tools: []string{"execute_query", "list_tables", "describe_table", w.tool}},
			Text:   "I look at the tables first.",
			Calls: append(callOf("list_tables", object{"database": "noc"}),
				callOf("describe_table", object{"database": "noc", "table": "alarm_event"})...),
		},
		{Expect: returned("raised_at"), Calls: query("SELECT DISTINCT type FROM alarm_event ORDER BY type")},
		{Expect: returned("CONFIG_CHANGED", "LINK_DOWN"), Calls: query("SELECT type, COUNT(*) AS count FROM alarm_event GROUP BY type ORDER BY count DESC LIMIT 5")},
		{Expect: returned("LINK_DOWN"), Then: func(results []string) replay.Turn {
			return replay.Turn{Calls: callOf(w.tool, object{"path": path, "content": asCSV(alarmRows(results, -1))})}
		}},
		{Expect: returned(), Then: func(results []string) replay.Turn {
			types, most := alarmRows(results, -3), alarmRows(results, -2)[0]
			return replay.Turn{Text: fmt.Sprintf("There are %d alarm types. The most frequent of them is %s, %s times.", len(types), most.Type, most.Count)}
		}},
	}
	if !w.long {
		return turns
	}
	// The definitions of its tools are too long for each request.
	turns[0].Expect.Last = "tool"
	search := replay.Turn{
		Expect: replay.Expect{Last: "user", Contains: []string{"alarm types", "five most frequent"}, Tools: []string{"search_tools"}},
		Calls: callOf("search_tools", object{"queries": []string{
			"list the tables of a database", "describe a table", "execute an SQL query", "write a file",
		}}),
	}
	return append([]replay.Turn{search}, turns...)
}

type alarmRow struct {
	Type  string
	Count json.Number
}

// alarmRows are the rows of a result, counted from the last one at -1. One without rows
// stands in for a result that has none.
func alarmRows(results []string, at int) []alarmRow {
	var rows []alarmRow
	if err := replay.JSON(results[len(results)+at], &rows); err != nil || len(rows) == 0 {
		return []alarmRow{{Type: fmt.Sprintf("no rows: %v", err)}}
	}
	return rows
}

func asCSV(rows []alarmRow) string {
	table := [][]string{{"type", "count"}}
	for _, row := range rows {
		table = append(table, []string{row.Type, row.Count.String()})
	}
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(table); err != nil {
		return err.Error()
	}
	return text.String()
}

// alarmBase is a database of alarm events, with SQL's own answer to the question.
type alarmBase struct {
	mysql  []string // the command line of a server for it
	answer [][]string
}

// alarmDatabase starts a database and asks it the question with its own client.
func alarmDatabase(t testing.TB) alarmBase {
	t.Helper()
	environment := databaseOf(t, alarms, "noc")
	mysql := append(slices.Clone(environment), npmServer("mysql-mcp-server/build/index.js")(t)...)
	client := append(environment, "sh", "-c", `exec "$0" --no-defaults --protocol=tcp --host="$MYSQL_HOST" --port="$MYSQL_PORT" `+
		`--user="$MYSQL_USER" --password="$MYSQL_PASSWORD" --default-character-set=utf8mb4 --batch --raw --execute="$1" "$MYSQL_DATABASE"`,
		program(t, "mariadb"), "SELECT type, COUNT(*) AS count FROM alarm_event GROUP BY type ORDER BY count DESC LIMIT 5")
	var answer [][]string
	for line := range strings.Lines(run(t, os.Environ(), client...)) {
		answer = append(answer, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	if len(answer) != 6 || !slices.Equal(answer[1], []string{"LINK_DOWN", "3101"}) {
		t.Fatalf("SQL's own answer is %q", answer)
	}
	return alarmBase{mysql, answer}
}

// table reads a file of CSV.
func table(t testing.TB, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// alarmChat is a chat in which the writer can write to the path, if it is allowed to.
func (b alarmBase) chat(t *testing.T, w writer, path string, flags ...string) *chat {
	t.Helper()
	servers := map[string][]string{"mysql": b.mysql, w.server: w.argv(t, filepath.Dir(path))}
	chat := newChat(t, servers, w.recording(path), append(flags, "--approve", "mysql", "--approve", w.server)...)
	chat.env = append(chat.env, "RECORDED_KEY=not-a-real-key")
	return chat
}

const alarmAnswer = "There are 9 alarm types. The most frequent of them is LINK_DOWN, 3101 times."

// The field's own test case: which alarm types are there, count the five most frequent,
// save them as CSV. Only what is between the person and the provider's model is played.
func TestAlarmTypesAreCountedAndSaved(t *testing.T) {
	t.Parallel()
	junction(t)
	base := alarmDatabase(t)
	for _, c := range []struct {
		name   string
		writer writer
		model  []string // flags; the default is chat completions with native tools
	}{
		{"chat completions, desktop-commander writes", commander, nil},
		{"chat completions, the filesystem server writes", npmFilesystem, nil},
		{"chat completions, Junction's own filesystem writes", ownFilesystem, nil},
		{"tools in the prompt", commander, []string{"--injected"}},
		{"Anthropic's messages", commander, []string{"--model", "anthropic:recorded", "--key-env", "RECORDED_KEY"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "alarms.csv")
			chat := base.chat(t, c.writer, path, "--allow", "mysql/*", "--allow", c.writer.server+"/"+c.writer.tool)
			stdout, stderr, code := chat.ask(t, alarmQuestion+path, c.model...)
			if code != 0 || stdout != alarmAnswer+"\n" {
				t.Fatalf("exit code %d, printed %q, want %q\nstderr: %.4000s", code, stdout, alarmAnswer, stderr)
			}
			base.verify(t, path)
		})
	}
	t.Run("what was not allowed is not written", func(t *testing.T) {
		t.Parallel()
		base.refused(t)
	})
	t.Run("a person at a terminal says yes to each call", func(t *testing.T) {
		t.Parallel()
		base.consented(t)
	})
}

// verify compares the file with SQL's own answer.
func (b alarmBase) verify(t *testing.T, path string) {
	t.Helper()
	if got := table(t, path); !slices.EqualFunc(got, b.answer, slices.Equal) {
		t.Errorf("the file holds\n%q\nand SQL's own answer is\n%q", got, b.answer)
	}
}

// refused asks without allowing to write: the model learns it, and the person which
// flag would have helped.
func (b alarmBase) refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.csv")
	chat := b.chat(t, npmFilesystem, path, "--allow", "mysql/*")
	stdout, stderr, code := chat.ask(t, alarmQuestion+path, "--json")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	if want := "--allow 'files/write_file'"; !strings.Contains(stderr, want) {
		t.Errorf("stderr does not say %q: %.2000s", want, stderr)
	}
	if code != 1 {
		t.Errorf("exit code %d, want 1: the model answered, and its last call that does more than read was not allowed", code)
	}
	var reported []string
	for _, e := range events(t, stdout) {
		if e.Consent != nil && !e.Consent.Allowed {
			reported = append(reported, e.Consent.Server+"/"+e.Consent.Tool)
		}
		if e.Called != nil && e.Called.Server == "files" {
			t.Errorf("%s was called", e.Called.Tool)
		}
	}
	if !slices.Equal(reported, []string{"files/write_file"}) {
		t.Errorf("refused were %q", reported)
	}
}

// consented is the same question on a screen: the person sees each call and says yes.
func (b alarmBase) consented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alarms.csv")
	s := b.chat(t, npmFilesystem, path, "--theme", "mono").onScreen(t)
	s.see("recorded")
	s.enter("Which alarm types are there? Count the five most frequent.")
	for _, seen := range []string{"list_tables", "describe_table", "SELECT DISTINCT type", "LIMIT 5", "alarms.csv"} {
		s.answer("y", "may this call run?", seen)
	}
	s.see("There are 9 alarm types")
	b.verify(t, path)
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}
