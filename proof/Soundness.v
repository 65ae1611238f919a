(* Soundness, for every row rule: from the text of an expression to what the top row reads. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid Rule Check Induction Place.
Import ListNotations.

Theorem soundness : forall R T C, check R T C = true ->
  forall (terms : list (list nat)) (W pads : nat),
  terms <> [] -> Forall (term_fits R W) terms ->
  let H := length terms + 1 in
  let x := symbols T H W (render terms ++ repeat Pad pads) in
  lawful R W x (length terms) ->
  exists rest, comes_to_rest T H W x rest /\ reading T W rest (H - 1) = should_read R W x (H - 1).
Proof.
  intros R T C ok terms W pads some fit. rewrite Nat.add_1_r. intros H x law.
  assert (checked := check_holds _ _ _ ok).
  destruct (symbols_are _ _ _ checked W terms pads some fit) as [grid _]. fold H in grid. fold x in grid.
  assert (positive : 1 <= length terms) by (destruct terms; [congruence | simpl; lia]).
  exists (ending T (length terms) W x). unfold H. replace (S (length terms) - 1) with (length terms) by lia.
  exact (settles _ _ _ checked _ W x positive grid law).
Qed.

(* A rule that leaves nothing out needs no arithmetic. *)
Definition plain (R : rule) : Prop :=
  (forall m, none R m = true -> fst m = 0)
  /\ (forall first k s right m, beside_right R first k s right m = true)
  /\ (forall k s m left, beside_left R k s m left = true).

Lemma plain_is_lawful : forall R, plain R -> forall W x N, lawful R W x N.
Proof. intros R (zero & right & left) W x N. split; [|split]; auto. Qed.
