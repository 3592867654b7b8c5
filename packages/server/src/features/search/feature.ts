import { feature } from '../../kernel/feature.ts'

export const search = feature({
  name: 'search',
  // Except for the ids, which begin with a time, they cost a registration an entry in a random place each.
  indexes: [
    // With the labels, in which a text is searched for without reading the rows.
    'index jwt_key_by_id on jwt_key (id, label)',
    'index jwt_key_by_id_end on jwt_key (substr(id, 33))',
    'index project_by_id_end on project (substr(id, 33))',
    'index jwt_key_by_thumbprint on jwt_key (thumbprint)',
    'index jwt_key_by_spki on jwt_key (spki_sha256)',
    'index jwt_key_by_label on jwt_key (lower(label))',
    'index published_kid_by_kid on published_kid (kid, project_id)',
  ],
  http: () => import('./http.ts'),
})
