import { feature } from '../../kernel/feature.ts'

export const publishing = feature({ name: 'publishing' })
