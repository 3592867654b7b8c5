import {
  IconDeviceLaptop,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconUserShield,
  IconUsers,
} from '@tabler/icons-react'
import { Route, Router, Switch } from 'wouter'
import { lazyPage } from './components/boundary.tsx'
import { MessagePage, NotFoundPage } from './components/states.tsx'
import { useFragmentLocation } from './fragment.ts'
import { Frame } from './frame.tsx'
import { SessionGate } from './session/gate.tsx'
import { useRights } from './session/session.tsx'
import { SignedInPage, signedInRoute } from './session/sign-in-again.tsx'

const ProjectsPage = lazyPage(() => import('./pages/projects/page.tsx'), 'ProjectsPage')
const ProjectPage = lazyPage(() => import('./pages/project/page.tsx'), 'ProjectPage')
const KeyPage = lazyPage(() => import('./pages/key/page.tsx'), 'KeyPage')
const RotatePage = lazyPage(() => import('./pages/rotate/page.tsx'), 'RotatePage')
const ApiKeysPage = lazyPage(() => import('./pages/api-keys/page.tsx'), 'ApiKeysPage')
const HistoryPage = lazyPage(() => import('./events/history.tsx'), 'HistoryPage')
const StatusPage = lazyPage(() => import('./pages/status.tsx'), 'StatusPage')
const AccessRulesPage = lazyPage(() => import('./pages/access-rules/page.tsx'), 'AccessRulesPage')
const PeoplePage = lazyPage(() => import('./pages/access.tsx'), 'PeoplePage')
const SessionsPage = lazyPage(() => import('./pages/access.tsx'), 'SessionsPage')

export function App() {
  if (location.hash === `#${signedInRoute}`) return <SignedInPage />
  return (
    <SessionGate>
      <Router hook={useFragmentLocation}>
        <Frame pages={pages}>
          <Pages />
        </Frame>
      </Router>
    </SessionGate>
  )
}

/** The pages of the navigation beside the projects: for admins and auditors of all projects, or for all. */
const pages = [
  { path: '/api-keys', label: 'API keys', Icon: IconKey, Page: ApiKeysPage },
  { path: '/access-rules', label: 'Access rules', Icon: IconUserShield, Page: AccessRulesPage },
  { path: '/people', label: 'People', Icon: IconUsers, Page: PeoplePage },
  {
    path: '/sessions',
    label: 'Sessions',
    Icon: IconDeviceLaptop,
    Page: SessionsPage,
    isForAll: true,
  },
  { path: '/history', label: 'History', Icon: IconHistory, Page: HistoryPage },
  { path: '/status', label: 'Status', Icon: IconHeartbeat, Page: StatusPage },
]

const AuditorsOnly = () => (
  <MessagePage title="Not open to you">
    Only an admin or auditor of all projects can see this page.
  </MessagePage>
)

function Pages() {
  const { mayAudit } = useRights()
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/projects/:project/rotate/:kid">
        {({ project, kid }) => <RotatePage key={kid} project={project} oldKid={kid} />}
      </Route>
      <Route path="/projects/:project/keys/:kid">
        {({ project, kid }) => (
          <KeyPage key={kid} project={project} kid={decodeURIComponent(kid)} />
        )}
      </Route>
      <Route path="/projects/:project/:tab?">
        {({ project, tab }) => <ProjectPage key={project} project={project} tab={tab ?? 'keys'} />}
      </Route>
      {pages.map(({ path, Page, isForAll }) => (
        <Route key={path} path={path} component={mayAudit || isForAll ? Page : AuditorsOnly} />
      ))}
      <Route component={NotFoundPage} />
    </Switch>
  )
}

function Home() {
  const { onlyProject } = useRights()
  return onlyProject === undefined ? (
    <ProjectsPage />
  ) : (
    <ProjectPage project={onlyProject} tab="keys" />
  )
}
