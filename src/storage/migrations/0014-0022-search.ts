import { type CreateIndexBuilder, sql } from 'kysely'
import { type BuildIndex, indexMigration, type SchemaMigration } from './building.ts'

/**
 * The indexes by which a text is found in all projects. What a registration pays for each was measured:
 * labels and hashes cost it an entry in a random place, request ids one at the end, and deletions none.
 * Kids need none of their own: they are found as subjects of events.
 */
const indexes: [name: string, build: BuildIndex][] = [
  ['jwt_key_by_thumbprint', (index) => index.on('jwt_key').column('thumbprint')],
  ['jwt_key_by_spki', (index) => index.on('jwt_key').column('spki_sha256')],
  ['jwt_key_by_label', (index) => index.on('jwt_key').expression(sql`lower(label)`)],
  ['published_kid_by_kid', (index) => index.on('published_kid').columns(['kid', 'project_id'])],
  ['event_by_request', (index) => index.on('event').columns(['request_id', 'project_id'])],
  ['event_of_deleted_key', (index) => ofDeletedKey(index.on('event').column('subject_id'))],
  [
    'event_of_deleted_key_in_project',
    (index) => ofDeletedKey(index.on('event').columns(['project_id', 'subject_id'])),
  ],
  ['api_key_by_name', (index) => index.on('api_key').expression(sql`lower(name)`)],
  ['api_key_by_prefix', (index) => index.on('api_key').column('prefix')],
]

function ofDeletedKey<Column extends string>(index: CreateIndexBuilder<Column>) {
  return index.where(sql.ref('type'), '=', 'key.deleted')
}

/** One migration for each, as PostgreSQL builds them: 0014 to 0022. */
export const searchIndexes: Record<string, SchemaMigration> = Object.fromEntries(
  indexes.map(([name, build], offset) => [
    `${String(14 + offset).padStart(4, '0')}-${name.replaceAll('_', '-')}`,
    indexMigration(name, build),
  ]),
)
