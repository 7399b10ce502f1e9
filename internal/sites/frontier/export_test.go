package frontier

// Statements are those that find the pages of a state.
var Statements = map[string]string{"waiting pages": selectWaiting, "pages of a state": selectByState + after}
