package api

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// describe returns what the API says of itself. Everything that huma would
// load from elsewhere is left out: an operator's browser is sent nowhere.
func describe(version string) huma.Config {
	c := huma.DefaultConfig("Freshet", version)
	c.Info.Description = "Watches web pages, feeds and JSON APIs within a budget of requests, and reports what changed."
	c.Info.Contact = &huma.Contact{Name: "The operator of this daemon"}
	c.Info.License = &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"}
	c.Servers = []*huma.Server{{URL: "/", Description: "This daemon"}}
	c.Tags = tagsOfAPI
	if c.Security == nil {
		c.Security = []map[string][]string{} // none
	}
	c.DocsPath, c.SchemasPath = "", ""
	c.CreateHooks = nil // no $schema in every answer
	c.RejectUnknownQueryParameters = true
	return c
}

// tagsOfAPI are what operations are sorted by.
var tagsOfAPI = []*huma.Tag{
	{Name: "sources", Description: "Watched pages, feeds and APIs, with their status."},
	{Name: "sites", Description: "Whole sites, and the pages found on them."},
	{Name: "versions", Description: "Captured versions, and their differences."},
	{Name: "outcomes", Description: "The log of polls."},
	{Name: "changes", Description: "The log of changes, as pages, streams and feeds."},
	{Name: "queries", Description: "Conditions that every change is checked against, and their matches."},
	{Name: "sinks", Description: "Receivers of changes and matches, and their deliveries."},
	{Name: "lab", Description: "Policies and budgets, compared on recorded history."},
	{Name: "session", Description: "The current user; login and logout."},
	{Name: "users", Description: "Users, tokens, share links, and the audit log."},
	{Name: "program", Description: "The daemon itself: status, budget, settings."},
}

// descriptions are those of operations that do not have one where they are routed.
var descriptions = map[string]string{
	"get-browser":          "Rendering is set for each source. Without a browser, sources that need one fail.",
	"get-cluster":          "Both lists are empty without a cluster.",
	"drain-hand":           "The cluster lists the names of workers; an unknown name is 404.",
	"get-feed-atom":        "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-feed-rss":         "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-feed-json":        "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"list-outcomes":        "With wait, the response is delayed until there is an outcome or the wait is over. A cursor that this log does not have is refused with 410.",
	"list-wanted-polls":    "Each entry has the reason for waiting, and when it ends.",
	"list-queries":         "Includes the queries of the configuration file.",
	"test-query":           "Stores and sends nothing.",
	"remove-query":         "A query that a sink follows is refused with 409, because its pending matches would be lost.",
	"get-query":            "The ETag of the answer is for If-Match of an edit.",
	"edit-query":           "The body is a JSON merge patch (RFC 7396) of a query; null resets a field.",
	"get-query-feed-atom":  "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-query-feed-rss":   "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-query-feed-json":  "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"reload":               "Applies every setting that can be changed while the daemon runs. If the file has a mistake nothing changes, and the response says where it is.",
	"get-settings":         "Settings of the configuration file, the environment or a flag cannot be changed here. The ETag of the answer is for If-Match of an edit.",
	"list-sinks":           "Each sink has its status. Secrets are not shown.",
	"list-sink-kinds":      "Describes the settings of each kind, for forms and for the command line.",
	"preview-sink":         "Sends and stores nothing. The body is the definition of a sink.",
	"remove-sink":          "Its pending deliveries and dead letters are deleted.",
	"get-sink":             "The ETag of the answer is for If-Match of an edit. Secrets are not shown.",
	"edit-sink":            "The body is a JSON merge patch (RFC 7396) of a sink; null resets a field.",
	"list-letters":         "Next is the after parameter of the following page. Dead letters can be sent again.",
	"get-site":             "The ID is that of the site's source.",
	"list-site-pages":      "Pages in all states, or in one. Next is the after parameter of the following page.",
	"list-sources":         "All filters must match. A page that is not the last has next: the after parameter of the following page.",
	"add-source":           "Only url is required. If the URL is watched already with the same settings, or the ID is taken, the answer is 409 with existing.",
	"remove-source":        "Its history is kept, and continues if the source is added again, unless purge is set.",
	"get-source":           "The ETag of the answer is the revision of the source, for If-Match of an edit. Polls do not change it.",
	"edit-source":          "The body is a JSON merge patch (RFC 7396) of a source definition; null resets a field.",
	"get-source-feed-atom": "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-source-feed-rss":  "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-source-feed-json": "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"remove-hook":          "Later calls of the hook get 404.",
	"make-hook":            "The path is a secret that allows polling the source and nothing else. With rotate the hook gets a new path, and the old one becomes invalid.",
	"list-source-outcomes": "Next is the before parameter of the following page.",
	"get-taught":           "Times that were imported over the API, rather than observed by polls.",
	"get-chances":          "In the order of time, with their validity. Expired ones are included; 404 if there are none. The ETag of the answer is for If-Match of an edit.",
	"clear-chances":        "The policy then uses what it has learned.",
	"get-version":          "Shows time, size, title and fields of a version, without its text.",
	"get-text":             "Versions are compared by this text. The number can be latest.",
	"get-session":          "Without a login, the response describes how to log in.",
	"logout":               "With everywhere, all sessions of the user end.",
	"set-password":         "Requires the current password.",
	"list-users":           "Passwords are never shown.",
	"get-user":             "The ETag of the answer is for If-Match of an edit.",
	"edit-user":            "Fields that are left out keep their value. A new password ends the sessions of the user.",
	"remove-user":          "The last admin cannot be removed while there are other users.",
	"list-tokens":          "Secrets are never shown.",
	"remove-token":         "Requests with the token then get 401.",
	"list-shares":          "Secrets are never shown.",
	"remove-share":         "Requests with the link then get 401, and open streams end.",
	"get-lab":              "Runs are kept in memory, as many as limits says, until the daemon ends.",
	"get-lab-report":       "The text is Markdown.",
	"get-lab-run":          "Poll this until the state is done, failed or cancelled.",
	"end-lab-run":          "The run ends within a few seconds. A cancelled run stays in the list until it is deleted again.",
	"get-status":           "Whether the daemon polls, its limits, its sources, and its problems.",
}

// finishDescription brings what huma wrote into the form of OpenAPI: it has a word for
// patterns of its own, which is needed only as long as routes are added.
func finishDescription(doc *huma.OpenAPI) {
	// In a definition these are optional; a source that is returned always has them.
	source := doc.Components.Schemas.Map()["Source"]
	source.Required = append(source.Required, "id", "tags", "select", "noise", "weight", "life", "urgency", "cost", "paused", "suspect", "robots", "keep")
	slices.Sort(source.Required)
	source.Properties["tags"].Nullable = false
	delete(source.Properties, "dial") // what it stands for is shown instead
	for _, s := range doc.Components.Schemas.Map() {
		finishSchema(s)
	}
	for _, item := range doc.Paths {
		for _, op := range operationsOf(item) {
			for _, p := range op.Parameters {
				finishSchema(p.Schema)
			}
		}
	}
}

// operationsOf returns the operations of a path.
func operationsOf(item *huma.PathItem) (all []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
		if op != nil {
			all = append(all, op)
		}
	}
	return all
}

// finishSchema does so with a schema and all in it.
func finishSchema(s *huma.Schema) {
	if s == nil {
		return
	}
	s.PatternDescription = ""
	finishSchema(s.Items)
	for _, p := range s.Properties {
		finishSchema(p)
	}
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		finishSchema(values)
	}
}
