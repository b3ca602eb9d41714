package integration

// An everydayTask is one question that people ask with eight servers at hand, and the calls
// that a good model makes for it, one after the other.
type everydayTask struct {
	question string
	kind     taskKind
	calls    []everydayCall
}

type taskKind string

const (
	readsOne  taskKind = "reads one server" // only reads, within one server
	readsMore taskKind = "reads several servers"
	writes    taskKind = "writes"
)

// An everydayCall is a call by the model's name of the tool. The texts DIR, REPO and PAGE
// in its arguments stand for the folder, the repository and the page that the tasks share.
type everydayCall struct{ tool, arguments string }

// everydayTasks were written down before the first of them was run. The servers are the
// eight that people install most for such work and that need no account: files, git,
// memory, time, thinking, a browser, a database, a terminal. Tasks see one folder, in this
// order, so that a later one finds what an earlier one wrote.
var everydayTasks = []everydayTask{
	// Reading within one server.
	{"What time is it in Tokyo?", readsOne, []everydayCall{
		{"time__get_current_time", `{"timezone":"Asia/Tokyo"}`}}},
	{"We meet at 9:30 in Oslo. When is that in New York and in Delhi?", readsOne, []everydayCall{
		{"time__convert_time", `{"source_timezone":"Europe/Oslo","time":"09:30","target_timezone":"America/New_York"}`},
		{"time__convert_time", `{"source_timezone":"Europe/Oslo","time":"09:30","target_timezone":"Asia/Kolkata"}`}}},
	{"What is in my notes about the trip?", readsOne, []everydayCall{
		{"filesystem__list_directory", `{"path":"DIR"}`},
		{"filesystem__read_text_file", `{"path":"DIR/trip.md"}`}}},
	{"Which of my files mention the budget?", readsOne, []everydayCall{
		{"filesystem__search_files", `{"path":"DIR","pattern":"**/*.md"}`},
		{"filesystem__read_multiple_files", `{"paths":["DIR/trip.md","DIR/budget.md"]}`}}},
	{"How big is budget.md, and when did I change it?", readsOne, []everydayCall{
		{"filesystem__get_file_info", `{"path":"DIR/budget.md"}`}}},
	{"What changed in the repository lately?", readsOne, []everydayCall{
		{"git__git_status", `{"repo_path":"REPO"}`},
		{"git__git_log", `{"repo_path":"REPO","max_count":5}`}}},
	{"Show me the last commit.", readsOne, []everydayCall{
		{"git__git_show", `{"repo_path":"REPO","revision":"HEAD"}`}}},
	{"What do you know about Ada?", readsOne, []everydayCall{
		{"memory__search_nodes", `{"query":"Ada"}`},
		{"memory__open_nodes", `{"names":["Ada"]}`}}},
	{"Which fruit do we sell, and at what price?", readsOne, []everydayCall{
		{"mysql__list_tables", `{"database":"shop"}`},
		{"mysql__describe_table", `{"database":"shop","table":"fruit"}`},
		{"mysql__execute_query", `{"database":"shop","query":"SELECT * FROM fruit"}`}}},
	{"Think it through: should the meeting be on Monday or on Friday?", readsOne, []everydayCall{
		{"thinking__sequentialthinking", `{"thought":"On Monday people are rested.","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true}`},
		{"thinking__sequentialthinking", `{"thought":"On Friday they know what happened. Friday.","thoughtNumber":2,"totalThoughts":2,"nextThoughtNeeded":false}`}}},
	{"What runs on this machine?", readsOne, []everydayCall{
		{"commander__list_processes", `{}`}}},
	{"Read me the first lines of hello.txt.", readsOne, []everydayCall{
		{"commander__read_file", `{"path":"DIR/hello.txt","length":5}`}}},

	// Reading in several servers.
	{"What does the log say about the change that my notes name?", readsMore, []everydayCall{
		{"filesystem__read_text_file", `{"path":"DIR/trip.md"}`},
		{"git__git_log", `{"repo_path":"REPO","max_count":3}`}}},
	{"When does the office in Tokyo open, in our time? The hours are in my notes.", readsMore, []everydayCall{
		{"filesystem__read_text_file", `{"path":"DIR/trip.md"}`},
		{"time__convert_time", `{"source_timezone":"Asia/Tokyo","time":"09:00","target_timezone":"Europe/Oslo"}`}}},
	{"What does the page at PAGE say?", readsMore, []everydayCall{
		{"playwright__browser_navigate", `{"url":"PAGE"}`},
		{"playwright__browser_snapshot", `{}`}}},

	// Writing.
	{"Write a note: milk, bread, tea.", writes, []everydayCall{
		{"filesystem__write_file", `{"path":"DIR/shopping.md","content":"- milk\n- bread\n- tea\n"}`}}},
	{"Put coffee and jam on the list as well.", writes, []everydayCall{
		{"filesystem__read_text_file", `{"path":"DIR/shopping.md"}`},
		{"filesystem__edit_file", `{"path":"DIR/shopping.md","edits":[{"oldText":"- tea\n","newText":"- tea\n- coffee\n"}]}`},
		{"filesystem__edit_file", `{"path":"DIR/shopping.md","edits":[{"oldText":"- coffee\n","newText":"- coffee\n- jam\n"}]}`}}},
	{"Move my notes into a folder of their own.", writes, []everydayCall{
		{"filesystem__list_directory", `{"path":"DIR"}`},
		{"filesystem__create_directory", `{"path":"DIR/notes"}`},
		{"filesystem__move_file", `{"source":"DIR/trip.md","destination":"DIR/notes/trip.md"}`},
		{"filesystem__move_file", `{"source":"DIR/budget.md","destination":"DIR/notes/budget.md"}`}}},
	{"Correct the two dates in the notes of the trip.", writes, []everydayCall{
		{"filesystem__read_text_file", `{"path":"DIR/notes/trip.md"}`},
		{"filesystem__edit_file", `{"path":"DIR/notes/trip.md","edits":[{"oldText":"3 May","newText":"4 May"},{"oldText":"9 May","newText":"10 May"}]}`}}},
	{"Remember that Ada lives in Oslo and likes trains.", writes, []everydayCall{
		{"memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["lives in Oslo","likes trains"]}]}`}}},
	{"Ada works with Bob. Remember that, too.", writes, []everydayCall{
		{"memory__search_nodes", `{"query":"Bob"}`},
		{"memory__create_entities", `{"entities":[{"name":"Bob","entityType":"person","observations":["works with Ada"]}]}`},
		{"memory__create_relations", `{"relations":[{"from":"Ada","to":"Bob","relationType":"works with"}]}`}}},
	{"Commit what I changed.", writes, []everydayCall{
		{"git__git_status", `{"repo_path":"REPO"}`},
		{"git__git_diff_unstaged", `{"repo_path":"REPO"}`},
		{"git__git_add", `{"repo_path":"REPO","files":["readme.md"]}`},
		{"git__git_commit", `{"repo_path":"REPO","message":"say what the program is for"}`}}},
	{"Start a branch for the new page.", writes, []everydayCall{
		{"git__git_branch", `{"repo_path":"REPO","branch_type":"local"}`},
		{"git__git_create_branch", `{"repo_path":"REPO","branch_name":"page"}`},
		{"git__git_checkout", `{"repo_path":"REPO","branch_name":"page"}`}}},
	{"Write the last changes of the repository into a changelog.", writes, []everydayCall{
		{"git__git_log", `{"repo_path":"REPO","max_count":5}`},
		{"filesystem__write_file", `{"path":"DIR/changes.md","content":"# Changes\n\n- say what the program is for\n- first commit\n"}`}}},
	{"Save the price list as a file.", writes, []everydayCall{
		{"mysql__execute_query", `{"database":"shop","query":"SELECT * FROM fruit ORDER BY name"}`},
		{"filesystem__write_file", `{"path":"DIR/prices.csv","content":"name\napple\nquince\n"}`}}},
	{"Begin today's entry in my diary.", writes, []everydayCall{
		{"time__get_current_time", `{"timezone":"Europe/Oslo"}`},
		{"filesystem__write_file", `{"path":"DIR/diary.md","content":"# Today\n\n"}`}}},
	{"Remember from my notes when the trip is.", writes, []everydayCall{
		{"filesystem__read_text_file", `{"path":"DIR/notes/trip.md"}`},
		{"memory__add_observations", `{"observations":[{"entityName":"Ada","contents":["travels from 4 May to 10 May"]}]}`}}},
	{"Save the heading and the text of PAGE in a file.", writes, []everydayCall{
		{"playwright__browser_navigate", `{"url":"PAGE"}`},
		{"playwright__browser_snapshot", `{}`},
		{"filesystem__write_file", `{"path":"DIR/page.md","content":"# Junction test page\n\nA page to read.\n"}`}}},
	{"Count the lines of all notes with a command.", writes, []everydayCall{
		{"commander__start_process", `{"command":"wc -l DIR/notes/trip.md DIR/notes/budget.md","timeout_ms":10000}`}}},
	{"Forget what you know about Bob.", writes, []everydayCall{
		{"memory__open_nodes", `{"names":["Bob"]}`},
		{"memory__delete_entities", `{"entityNames":["Bob"]}`}}},
}
