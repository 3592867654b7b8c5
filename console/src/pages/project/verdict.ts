import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { KeyCheck } from '../../../../client/src/index.ts'
import { type Conversion, convert } from '../../keys/conversion.ts'
import { isSecretText } from '../../keys/secret-text.ts'
import { useSession } from '../../session/context.tsx'

/** The result of checking the text of a key. */
export type KeyVerdict = {
  /** The text contains a private key or another secret; it was not sent. */
  secret: boolean
  pending: boolean
  check?: KeyCheck | undefined
  /** The key of a certificate or JWK, which the service does not accept. */
  conversion?: Conversion | undefined
  error?: unknown
}

/**
 * Checks a key while the user types. Secrets are detected in the browser before anything is sent, and
 * certificates and JWKs are converted here; everything else is checked by the service.
 */
export function useVerdict(text: string): KeyVerdict {
  const { client } = useSession()
  const secret = useMemo(() => isSecretText(text), [text])
  const [settled] = useDebouncedValue(text.trim(), 300)
  const checked = settled === text.trim() ? settled : ''
  const query = useQuery({
    queryKey: ['verdict', secret ? '' : checked],
    queryFn: async ({ signal }) => {
      const conversion = await convert(checked)
      if (conversion !== undefined) return { conversion }
      return { check: await client.keys.check({ publicKeyPem: checked }, { signal }) }
    },
    enabled: !secret && checked !== '',
    gcTime: 0,
  })
  if (secret || text.trim() === '') return { secret, pending: false }
  return {
    secret,
    pending: checked === '' || query.isFetching,
    ...(query.data ?? {}),
    ...(query.isError ? { error: query.error } : {}),
  }
}
