package rest

import (
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
)

// describeTypes registers the schemas of types of package client, which does not know huma.
func describeTypes(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[client.Duration](), reflect.TypeFor[duration]())
}

// A duration is a client.Duration with a schema.
type duration time.Duration

const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+)?$`

// Schema implements [huma.SchemaProvider].
func (duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true,
		Pattern: durationPattern, PatternDescription: "a time such as 90s, 1h30m or 2d",
		Examples: []any{"1h30m"},
	}
}

// Nullable lets every field of a schema be null, and every part of a field.
func Nullable(r huma.Registry, s *huma.Schema) *huma.Schema {
	for name, field := range s.Properties {
		if field.Ref != "" {
			part := *r.SchemaFromRef(field.Ref)
			part.Properties = map[string]*huma.Schema{} // others refer to the same
			for name, inner := range r.SchemaFromRef(field.Ref).Properties {
				own := *inner
				part.Properties[name] = &own
			}
			field = &part
			s.Properties[name] = field
		}
		for _, inner := range field.Properties {
			nullable(inner)
		}
		if values, ok := field.AdditionalProperties.(*huma.Schema); ok {
			nullable(values)
		}
		nullable(field)
	}
	return s
}

// nullable lets what a schema describes be null. One without a type takes anything.
func nullable(s *huma.Schema) { s.Nullable = s.Type != "" }
