// Package markdown shows Markdown in a terminal, also while it is still being written.
//
// It supports CommonMark with tables, task lists and strikethrough. HTML is shown as text. A link
// is shown with its address, so that its text cannot mislead the user. Reference links are not
// resolved, because their definition may come after the text is on the screen.
//
// [Render] shows a whole text. A [Stream] takes it in pieces and returns finished parts. The parts
// do not depend on how the text was split, and together they equal the output of Render.
package markdown
